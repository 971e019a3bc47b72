#include "sql/live/index_check.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "model/exact_dot.h"
#include "model/quantize.h"

namespace glove::sql {
namespace {

// A row of a segment that is not dead.
struct LivingRow {
  int64_t id;
  const live::Segment* segment;
  int64_t row;
};

std::vector<LivingRow> living_rows(const std::vector<StoredSegment>& segments) {
  std::vector<LivingRow> living;
  for (const StoredSegment& stored : segments)
    for (int64_t row = 0; row < stored.record.rows; ++row)
      if (!stored.is_dead(row))
        living.push_back({stored.segment->ids()[static_cast<size_t>(row)], stored.segment.get(), row});
  std::sort(living.begin(), living.end(), [](const LivingRow& a, const LivingRow& b) { return a.id < b.id; });
  return living;
}

// True if the row has the codes of this vector. REQUIRES: the vector has the segment's dimensions and is not
// zero.
bool has_codes_of(const LivingRow& place, std::span<const float> vector, double norm_squared) {
  const int64_t dims = place.segment->dims();
  std::vector<int8_t> codes(static_cast<size_t>(component_groups(dims) * kTileComponents));
  float scale = 0;
  float residual = 0;
  quantize_row(vector.data(), norm_squared, dims, codes.data(), kTileComponents, scale, residual);
  const CodeLevel& level = place.segment->level();
  for (int64_t j = 0; j < dims; ++j)
    if (level.codes[static_cast<size_t>(code_index(place.row, j, dims))] != codes[static_cast<size_t>(j)])
      return false;
  const auto row = static_cast<size_t>(place.row);
  return level.scales[row] == scale && level.residuals[row] == residual;
}

// Compares each row of the content with the segments.
class ContentCheck {
 public:
  ContentCheck(const IndexDefinition& index, std::vector<LivingRow> living, std::vector<int64_t> logged)
      : index_(index), living_(std::move(living)), logged_(std::move(logged)) {}

  // Sets problem() if the row is wrong and nothing was wrong before.
  void check(int64_t id, std::span<const float> vector) {
    if (!problem_.empty() || std::binary_search(logged_.begin(), logged_.end(), id)) return;
    const double norm_squared = exact_dot(vector.data(), vector.data(), static_cast<int64_t>(vector.size()));
    const auto place = std::lower_bound(living_.begin(), living_.end(), id,
                                        [](const LivingRow& row, int64_t wanted) { return row.id < wanted; });
    const bool indexed = place != living_.end() && place->id == id;
    if (indexed != (norm_squared > 0))
      problem_ = indexed ? "has no vector, but the index has one" : "has a vector, but the index has none";
    else if (indexed && !has_codes_of(*place, vector, norm_squared))
      problem_ = "has another vector than the index";
    if (!problem_.empty())
      problem_ = index_.name + " is out of step: the row " + std::to_string(id) + " of '" + index_.content +
                 "' " + problem_ + ", and the change was not logged; run the command 'rebuild'";
  }

  const std::string& problem() const { return problem_; }

 private:
  const IndexDefinition& index_;
  std::vector<LivingRow> living_;
  std::vector<int64_t> logged_;
  std::string problem_;
};

}  // namespace

Result<std::string> find_problem(const IndexDefinition& index, IndexStore& store, ContentRows& rows) {
  GLOVE_ASSIGN_OR_RETURN(const IndexConfig config, store.config());
  const int64_t dims = config.dims;
  auto segments = store.segments(dims);
  if (!segments.ok() && segments.error().code == ErrorCode::kCorrupt) return segments.error().message;
  GLOVE_RETURN_IF_ERROR(segments);
  for (StoredSegment& stored : segments.value()) {
    auto segment = store.read_segment(stored.record, dims);
    if (!segment.ok() && segment.error().code == ErrorCode::kCorrupt) return segment.error().message;
    GLOVE_RETURN_IF_ERROR(segment);
    stored.segment = segment.value();
  }
  std::vector<LivingRow> living = living_rows(segments.value());
  const auto twice = std::adjacent_find(living.begin(), living.end(),
                                        [](const LivingRow& a, const LivingRow& b) { return a.id == b.id; });
  if (twice != living.end())
    return index.name + " is damaged: two segments have the row " + std::to_string(twice->id) +
           "; run the command 'rebuild'";
  GLOVE_ASSIGN_OR_RETURN(auto logged, store.logged());
  ContentCheck check(index, std::move(living), std::move(logged));
  GLOVE_RETURN_IF_ERROR(rows.begin(dims, config.fingerprint));
  GLOVE_RETURN_IF_ERROR(rows.read_content(
      [&](int64_t id, RowVector, std::span<const float> vector, const std::string&) -> Status {
        check.check(id, vector);
        return {};
      }));
  return check.problem();
}

}  // namespace glove::sql
