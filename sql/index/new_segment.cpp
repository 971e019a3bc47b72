#include "sql/index/new_segment.h"

#include <array>
#include <string>

#include "base/float_environment.h"
#include "base/require.h"
#include "live/live_search.h"
#include "model/limits.h"

namespace glove::sql {

Status NewSegment::add(const ContentRows& rows, const ContentRow& row) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  if (row.found == RowVector::kInvalid && !index_.skip_invalid) return rows.fault_of_row(row.id, row.fault);
  if (row.found != RowVector::kVector || !live::is_in_relation(index_.metric, row.norm_squared)) return {};
  const auto dims = static_cast<int64_t>(row.vector.size());
  const bool is_sampled = !builder_ && index_.metric != RowMetric::kCosine && coding_ == nullptr;
  if (!builder_ && !is_sampled) begin(dims);
  if (rows_ >= kMaxRows)
    return rows.fault_of_row(
        row.id, "has no place in the index, which can have at most " + std::to_string(kMaxRows) + " rows");
  if (is_sampled) {
    sample_.add(row.id, row.vector, row.norm_squared);
    if (sample_.ids.size() == kSampledRows) encode_sample(dims);
  } else {
    encoder_->add(row.id, row.vector, row.norm_squared);
  }
  ++rows_;
  if (!index_.is_text) return {};
  GLOVE_RETURN_IF_ERROR(digests_.add(stored_digest(row.digest)));
  return writer_.add(row.vector);
}

void NewSegment::begin(int64_t dims) {
  builder_.emplace(dims, expected_rows_, coding_);
  encoder_.emplace(*builder_);
}

void NewSegment::encode_sample(int64_t dims) {
  coding_ = std::make_shared<const Coding>(Coding{
      index_.metric, index_.metric == RowMetric::kHamming ? Shift() : shift_of(sample_.vectors, dims)});
  begin(dims);
  for (size_t i = 0; i < sample_.ids.size(); ++i)
    encoder_->add(sample_.ids[i], sample_.vector(i), sample_.norms_squared[i]);
  sample_ = {};
}

Status NewSegment::copy(const StoredSegment& from, int64_t row) {
  GLOVE_REQUIRE(from.segment != nullptr);
  if (!builder_) {
    coding_ = from.segment->coding();
    builder_.emplace(from.segment->dims(), expected_rows_, coding_);
  }
  builder_->copy(*from.segment, row);
  ++rows_;
  if (!index_.is_text) return {};
  StoredTextReader& reader =
      readers_.try_emplace(from.record.id, vectors_, from.segment->dims()).first->second;
  GLOVE_ASSIGN_OR_RETURN(const auto digest, reader.digests.read(from.record.id, row));
  constexpr std::array<float, kDigestComponents> kNone{};
  GLOVE_RETURN_IF_ERROR(digests_.add(digest.empty() ? std::span<const float>(kNone) : digest));
  GLOVE_ASSIGN_OR_RETURN(const auto vector, reader.vectors.read(from.record.id, row));
  if (!from.segment->has_codes_of(row, vector))
    return damaged_index(index_, "the segment ", from.record.id, " lacks the vector that belongs to its row ",
                         row);
  return writer_.add(vector);
}

Result<live::SegmentPtr> NewSegment::finish() {
  GLOVE_REQUIRE(rows() > 0);
  GLOVE_RETURN_IF_ERROR(digests_.finish());
  GLOVE_RETURN_IF_ERROR(writer_.finish());
  if (!sample_.ids.empty()) encode_sample(std::ssize(sample_.vectors) / std::ssize(sample_.ids));
  if (encoder_) encoder_->finish();
  const int64_t dims = builder_->dims();
  return live::Segment::parse(builder_->finish(), rows_, dims, "a new segment", {}, coding_);
}

}  // namespace glove::sql
