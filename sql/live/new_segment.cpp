#include "sql/live/new_segment.h"

#include "model/exact_dot.h"
#include "model/limits.h"

namespace glove::sql {

Status NewSegment::add(const ContentRows& rows, int64_t id, RowVector found, std::span<const float> vector,
                       const std::string& fault) {
  if (found == RowVector::kInvalid && !index_.skip_invalid) return rows.fault_of_row(id, fault);
  if (found != RowVector::kVector) return {};
  const double norm_squared = exact_dot(vector.data(), vector.data(), static_cast<int64_t>(vector.size()));
  if (!(norm_squared > 0)) return {};
  if (!builder_) {
    builder_.emplace(static_cast<int64_t>(vector.size()), expected_rows_);
    encoder_.emplace(*builder_);
  }
  if (rows_ >= kMaxRows)
    return rows.fault_of_row(
        id, "has no place in the index, which can have at most " + std::to_string(kMaxRows) + " rows");
  encoder_->add(id, vector, norm_squared);
  ++rows_;
  return index_.is_text ? writer_.add(vector) : Status();
}

Status NewSegment::copy(const StoredSegment& from, int64_t row) {
  if (!builder_) builder_.emplace(from.segment->dims(), expected_rows_);
  builder_->copy(*from.segment, row);
  ++rows_;
  if (!index_.is_text) return {};
  VectorReader& reader = readers_.try_emplace(from.record.id, vectors_, from.segment->dims()).first->second;
  GLOVE_ASSIGN_OR_RETURN(const auto vector, reader.read(from.record.id, row));
  if (!from.segment->has_codes_of(row, vector))
    return damaged_index(index_, "the segment " + std::to_string(from.record.id) +
                                     " lacks the vector that belongs to its row " + std::to_string(row));
  return writer_.add(vector);
}

Result<live::SegmentPtr> NewSegment::finish() {
  GLOVE_RETURN_IF_ERROR(writer_.finish());
  if (encoder_) encoder_->finish();
  const int64_t dims = builder_->dims();
  return live::Segment::parse(builder_->finish(), rows_, dims, "a new segment");
}

}  // namespace glove::sql
