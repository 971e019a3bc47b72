// Whether a live index agrees with its content.

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/float_environment.h"
#include "live/list_maker.h"
#include "sql/adapter/interrupt.h"
#include "sql/index/index_commands.h"
#include "sql/index/index_lists.h"
#include "sql/index/index_schema.h"

namespace glove::sql {
namespace {

// A row of a segment that is not dead.
struct LivingRow {
  int64_t id;
  const StoredSegment* stored;
  int64_t row;
};

std::vector<LivingRow> living_rows(const std::vector<StoredSegment>& segments) {
  std::vector<LivingRow> living;
  for (const StoredSegment& stored : segments)
    for (int64_t row = 0; row < stored.record.rows; ++row)
      if (!stored.is_dead(row)) living.push_back({stored.row_ids()[static_cast<size_t>(row)], &stored, row});
  std::sort(living.begin(), living.end(), [](const LivingRow& a, const LivingRow& b) { return a.id < b.id; });
  return living;
}

// Compares each row of the content with the segments.
class ContentCheck {
 public:
  ContentCheck(const IndexDefinition& index, VectorStore& vectors, std::vector<LivingRow> living,
               std::vector<int64_t> logged)
      : index_(index), vectors_(vectors), living_(std::move(living)), logged_(std::move(logged)) {}

  // Sets problem() if the row is wrong and nothing was wrong before.
  Status check(const ContentRow& row) {
    if (!problem_.empty() || std::binary_search(logged_.begin(), logged_.end(), row.id)) return {};
    const auto place = std::lower_bound(living_.begin(), living_.end(), row.id,
                                        [](const LivingRow& at, int64_t wanted) { return at.id < wanted; });
    const bool indexed = place != living_.end() && place->id == row.id;
    if (indexed != (row.found == RowVector::kVector && row.norm_squared > 0))
      problem_ = indexed ? "has no vector, but the index has one" : "has a vector, but the index has none";
    else if (indexed && !place->stored->segment->has_codes_of(place->row, row.vector))
      problem_ = "has another vector than the index";
    if (problem_.empty() && indexed && index_.is_text) return check_stored(*place, row.vector);
    if (!problem_.empty())
      problem_ = index_.name + " is out of step: the row " + std::to_string(row.id) + " of '" +
                 index_.content + "' " + problem_ + ", and the change was not logged; run " +
                 index_.command("rebuild");
    return {};
  }

  const std::string& problem() const { return problem_; }

 private:
  // Compares the vector of a text with the stored one.
  Status check_stored(const LivingRow& place, std::span<const float> vector) {
    const int64_t segment = place.stored->record.id;
    VectorReader& reader =
        readers_.try_emplace(segment, vectors_, static_cast<int64_t>(vector.size())).first->second;
    GLOVE_ASSIGN_OR_RETURN(const auto stored, reader.read(segment, place.row));
    if (stored.size() != vector.size() || std::memcmp(stored.data(), vector.data(), vector.size_bytes()) != 0)
      problem_ = damaged_index(index_, "the stored vector of the row " + std::to_string(place.id) + " of '" +
                                           index_.content + "' is not that of its text")
                     .message;
    return {};
  }

  const IndexDefinition& index_;
  VectorStore& vectors_;
  std::map<int64_t, VectorReader> readers_;  // by segment
  std::vector<LivingRow> living_;
  std::vector<int64_t> logged_;
  std::string problem_;
};

// Returns false if the segment's rows are in lists with other planes than those that belong to its codes.
Result<bool> check_planes(const live::Segment& segment, Connection& connection) {
  if (segment.planes() == nullptr) return true;
  const ScopedFloatEnvironment float_environment;
  InterruptPoller interrupted(connection.db());
  return live::has_planes_of_codes(segment, interrupted);
}

}  // namespace

Result<std::string> IndexCommands::problem() {
  const Status checked = check_index(connection_.db(), index_);
  if (!checked.ok()) return checked.error().message;
  GLOVE_ASSIGN_OR_RETURN(const IndexConfig config, store_.config());
  const int64_t dims = config.dims;
  auto segments = store_.loaded_segments(dims);
  if (!segments.ok() && segments.error().code == ErrorCode::kCorrupt) return segments.error().message;
  GLOVE_RETURN_IF_ERROR(segments);
  for (StoredSegment& stored : segments.value()) {
    auto segment = store_.segments().read(stored.record, dims);
    if (!segment.ok() && segment.error().code == ErrorCode::kCorrupt) return segment.error().message;
    GLOVE_RETURN_IF_ERROR(segment);
    stored.segment = segment.value();
    GLOVE_ASSIGN_OR_RETURN(const bool has_planes, check_planes(*stored.segment, connection_));
    if (!has_planes)
      return damaged_index(index_, name_of(stored.record) + " has planes that are not those of its codes")
          .message;
  }
  if (is_calibrated(config, segments.value())) {
    GLOVE_ASSIGN_OR_RETURN(const auto recall, store_.segments().read_recall(dims, *config.recall));
    if (recall == nullptr)
      return index_.name +
             " is damaged: its calibration for approximate answers cannot be one of its lists, " +
             "so that all are exact; run " + index_.command("merge");
  }
  std::vector<LivingRow> living = living_rows(segments.value());
  const auto twice = std::adjacent_find(living.begin(), living.end(),
                                        [](const LivingRow& a, const LivingRow& b) { return a.id == b.id; });
  if (twice != living.end())
    return damaged_index(index_, "two segments have the row " + std::to_string(twice->id)).message;
  GLOVE_ASSIGN_OR_RETURN(auto logged, store_.logged());
  ContentCheck check(index_, vectors_, std::move(living), std::move(logged));
  GLOVE_RETURN_IF_ERROR(rows_.begin(dims, config));
  GLOVE_RETURN_IF_ERROR(
      rows_.read_content([&](const ContentRow& row) -> Status { return check.check(row); }));
  return check.problem();
}

}  // namespace glove::sql
