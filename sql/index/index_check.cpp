// Whether a live index agrees with its content.

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/float_environment.h"
#include "live/list_maker.h"
#include "sql/adapter/interrupt.h"
#include "sql/index/index_commands.h"
#include "sql/index/index_lists.h"
#include "sql/index/index_schema.h"
#include "sql/index/key_table.h"

namespace glove::sql {
namespace {

std::vector<LivingRow> living_rows(const std::vector<StoredSegment>& segments) {
  std::vector<LivingRow> living;
  for (const StoredSegment& stored : segments) append_living(stored, living);
  std::ranges::sort(living, {}, &LivingRow::id);
  return living;
}

std::string out_of_step(const IndexDefinition& index, const std::string& row, const std::string& what) {
  return index.name + " is out of step: the row " + row + " of '" + index.content + "' " + what +
         ", and the change was not logged; run " + index.command("rebuild");
}

// Compares each row of the content with the segments.
class ContentCheck {
 public:
  ContentCheck(const IndexDefinition& index, VectorStore& vectors, std::vector<LivingRow> living,
               std::vector<int64_t> logged)
      : index_(index), vectors_(vectors), living_(std::move(living)), logged_(std::move(logged)) {}

  // Returns what is wrong with the row in the index, for the end of a message; empty if nothing is. Rows come
  // by ascending ids.
  Result<std::string> fault(const ContentRow& row) {
    while (at_ < living_.size() && living_[at_].id < row.id) unseen_.push_back(living_[at_++].id);
    if (at_ < living_.size() && living_[at_].id == row.id) ++at_;
    if (std::binary_search(logged_.begin(), logged_.end(), row.id)) return std::string();
    const auto place = std::ranges::lower_bound(living_, row.id, {}, &LivingRow::id);
    const bool indexed = place != living_.end() && place->id == row.id;
    if (indexed != (row.found == RowVector::kVector && live::is_in_relation(index_.metric, row.norm_squared)))
      return std::string(indexed ? "has no vector, but the index has one"
                                 : "has a vector, but the index has none");
    if (indexed && !place->stored->segment->has_codes_of(place->row, row.vector))
      return std::string("has another vector than the index");
    return indexed && index_.is_text ? fault_of_stored(*place, row.vector) : std::string();
  }

  // The ids of the rows that the log names, which fault() does not compare.
  const std::vector<int64_t>& logged() const { return logged_; }

  // Returns the rows of the index that the content does not have. To be called after the last row.
  std::vector<int64_t> unseen() {
    for (; at_ < living_.size(); ++at_) unseen_.push_back(living_[at_].id);
    return std::move(unseen_);
  }

 private:
  // Compares the vector of a text with the stored one.
  Result<std::string> fault_of_stored(const LivingRow& place, std::span<const float> vector) {
    const int64_t segment = place.stored->record.id;
    VectorReader& reader =
        readers_.try_emplace(segment, vectors_, static_cast<int64_t>(vector.size())).first->second;
    GLOVE_ASSIGN_OR_RETURN(const auto stored, reader.read(segment, place.row));
    const bool same =
        stored.size() == vector.size() && std::memcmp(stored.data(), vector.data(), vector.size_bytes()) == 0;
    return std::string(same ? "" : "has a text whose stored vector is another one");
  }

  const IndexDefinition& index_;
  VectorStore& vectors_;
  std::map<int64_t, VectorReader> readers_;  // by segment
  std::vector<LivingRow> living_;
  std::vector<int64_t> logged_;
  size_t at_ = 0;                // in living_, behind the last row
  std::vector<int64_t> unseen_;  // before that
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
  const Status checked = check_index(db(), index_);
  if (!checked.ok()) return checked.error().message;
  GLOVE_ASSIGN_OR_RETURN(const IndexConfig config, store_.config());
  const auto segments = checked_segments(config);
  if (!segments.ok() && segments.error().code == ErrorCode::kCorrupt) return segments.error().message;
  GLOVE_RETURN_IF_ERROR(segments);
  if (is_calibrated(config, segments.value())) {
    GLOVE_ASSIGN_OR_RETURN(const auto recall, store_.segments().read_recall(config.dims, *config.recall));
    if (recall == nullptr)
      return index_.name +
             " is damaged: its calibration for approximate answers cannot be one of its lists, " +
             "so that all are exact; run " + index_.command("merge");
  }
  if (index_.has_key_table) {
    GLOVE_ASSIGN_OR_RETURN(const std::string missing, KeyTable(connection_, index_).missing_key());
    if (!missing.empty()) return out_of_step(index_, missing, "has a key that the index has not entered");
  }
  GLOVE_ASSIGN_OR_RETURN(auto logged, store_.logged());
  ContentCheck check(index_, vectors_, living_rows(segments.value()), std::move(logged));
  GLOVE_RETURN_IF_ERROR(rows_.begin(config.dims, config));
  // Of a neural model the digests of texts are compared: other processors make slightly different vectors.
  KnownTexts known(store_, vectors_);
  if (rows_.encodes_slowly()) {
    GLOVE_RETURN_IF_ERROR(known.read(rows_.fingerprint()));
    rows_.reuse(&known, check.logged());
  }
  std::string found;
  GLOVE_RETURN_IF_ERROR(rows_.read_content([&](const ContentRow& row) -> Status {
    if (!found.empty()) return {};
    GLOVE_ASSIGN_OR_RETURN(found, check.fault(row));
    if (!found.empty()) found = out_of_step(index_, rows_.row_text(row.id), found);
    return {};
  }));
  return found;
}

// Reads the segments from the database, and checks all that can be checked without the content.
Result<std::vector<StoredSegment>> IndexCommands::checked_segments(const IndexConfig& config) {
  GLOVE_ASSIGN_OR_RETURN(auto segments, store_.loaded_segments(config.dims));
  for (StoredSegment& stored : segments) {
    GLOVE_ASSIGN_OR_RETURN(stored.segment, store_.segments().read(stored.record, config.dims));
    GLOVE_ASSIGN_OR_RETURN(const bool has_planes, check_planes(*stored.segment, connection_));
    if (!has_planes)
      return damaged_index(index_, name_of(stored.record), " has planes that are not those of its codes");
  }
  const std::vector<LivingRow> living = living_rows(segments);
  const auto twice = std::ranges::adjacent_find(living, {}, &LivingRow::id);
  if (twice != living.end()) return damaged_index(index_, "two segments have the row ", twice->id);
  return segments;
}

Status IndexCommands::repair() {
  GLOVE_RETURN_IF_ERROR(check_content(db(), index_));
  GLOVE_RETURN_IF_ERROR(create_missing_tables(db(), index_));
  if (index_.has_key_table) GLOVE_RETURN_IF_ERROR(KeyTable(connection_, index_).add_missing());
  GLOVE_RETURN_IF_ERROR(drop_triggers(db(), index_));
  GLOVE_RETURN_IF_ERROR(create_triggers(db(), index_));
  const Status logged = log_differences();
  if (!logged.ok() && logged.error().code == ErrorCode::kCorrupt) return rebuild();
  GLOVE_RETURN_IF_ERROR(logged);
  return sync(false, std::numeric_limits<int64_t>::max());
}

// Logs the rows that are not in the index as they are now, and those that only the index has. An error,
// kCorrupt, if what is stored cannot be trusted.
Status IndexCommands::log_differences() {
  GLOVE_ASSIGN_OR_RETURN(const IndexConfig config, store_.config());
  GLOVE_ASSIGN_OR_RETURN(const auto segments, checked_segments(config));
  GLOVE_RETURN_IF_ERROR(rows_.begin(config.dims, config));
  KnownTexts known(store_, vectors_);
  if (index_.is_text) GLOVE_RETURN_IF_ERROR(known.read(rows_.fingerprint()));
  GLOVE_ASSIGN_OR_RETURN(auto logged, store_.logged());
  ContentCheck check(index_, vectors_, living_rows(segments), std::move(logged));
  rows_.reuse(&known, check.logged());
  std::vector<int64_t> differ;
  GLOVE_RETURN_IF_ERROR(rows_.read_content([&](const ContentRow& row) -> Status {
    if (row.found == RowVector::kInvalid && !index_.skip_invalid)
      return rows_.fault_of_row(row.id, row.fault);
    GLOVE_ASSIGN_OR_RETURN(const std::string fault, check.fault(row));
    if (!fault.empty()) differ.push_back(row.id);
    return {};
  }));
  rows_.reuse(nullptr);
  const std::vector<int64_t> unseen = check.unseen();
  differ.insert(differ.end(), unseen.begin(), unseen.end());
  return store_.log(differ);
}

}  // namespace glove::sql
