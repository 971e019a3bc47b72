#include "sql/index/new_segment.h"

#include "model/limits.h"

namespace glove::sql {

Status NewSegment::add(const ContentRows& rows, const ContentRow& row) {
  if (row.found == RowVector::kInvalid && !index_.skip_invalid) return rows.fault_of_row(row.id, row.fault);
  if (row.found != RowVector::kVector || !(row.norm_squared > 0)) return {};
  if (!builder_) {
    builder_.emplace(static_cast<int64_t>(row.vector.size()), expected_rows_);
    encoder_.emplace(*builder_);
  }
  if (rows_ >= kMaxRows)
    return rows.fault_of_row(
        row.id, "has no place in the index, which can have at most " + std::to_string(kMaxRows) + " rows");
  encoder_->add(row.id, row.vector, row.norm_squared);
  ++rows_;
  return index_.is_text ? writer_.add(row.vector) : Status();
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
