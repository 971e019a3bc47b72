#include "sql/live/index_commands.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "live/merge_rule.h"
#include "model/exact_dot.h"
#include "model/limits.h"
#include "sql/live/index_check.h"
#include "sql/live/index_schema.h"

namespace glove::sql {
namespace {

// Collects the rows of a new segment.
class NewSegment {
 public:
  NewSegment(const ContentRows& rows, bool skip_invalid) : rows_(rows), skip_invalid_(skip_invalid) {}

  // A row of the content. Rows without a vector, and zero vectors, which are in no relation, are left out.
  Status add(int64_t id, RowVector found, std::span<const float> vector, const std::string& fault) {
    if (found == RowVector::kInvalid && !skip_invalid_) return rows_.fault_of_row(id, fault);
    if (found != RowVector::kVector) return {};
    const double norm_squared = exact_dot(vector.data(), vector.data(), static_cast<int64_t>(vector.size()));
    if (!(norm_squared > 0)) return {};
    if (!builder_) builder_.emplace(static_cast<int64_t>(vector.size()));
    if (builder_->rows() >= kMaxRows) return rows_.fault_of_row(id, "is one too many for an index");
    builder_->add(id, vector, norm_squared);
    return {};
  }

  int64_t rows() const { return builder_ ? builder_->rows() : 0; }
  Buffer<char> finish() { return builder_->finish(); }

 private:
  const ContentRows& rows_;
  bool skip_invalid_;
  std::optional<live::SegmentBuilder> builder_;
};

}  // namespace

Status IndexCommands::create() {
  sqlite3* const db = connection_.db();
  GLOVE_RETURN_IF_ERROR(check_content(db, index_));
  GLOVE_RETURN_IF_ERROR(create_tables(db, index_));
  return rebuild();
}

Status IndexCommands::run(std::string_view command) {
  if (command == "rebuild") return rebuild();
  if (command == "integrity-check") {
    GLOVE_ASSIGN_OR_RETURN(const std::string found, problem());
    return found.empty() ? Status() : Status(ErrorCode::kCorrupt, found);
  }
  const bool merge = command == "merge";
  if (!merge && command != "sync")
    return {ErrorCode::kInvalidArgument, index_.name + ": there is no command '" + std::string(command) +
                                             "'; the commands are: sync, merge, rebuild, integrity-check"};
  GLOVE_RETURN_IF_ERROR(check_index(connection_.db(), index_));
  return sync(merge);
}

Status IndexCommands::sync(bool join_all) {
  GLOVE_ASSIGN_OR_RETURN(const IndexConfig config, store_.config());
  GLOVE_ASSIGN_OR_RETURN(auto segments, store_.segments(config.dims));
  GLOVE_RETURN_IF_ERROR(rows_.begin(config.dims, config.fingerprint));
  NewSegment fresh(rows_, index_.skip_invalid);
  int64_t logged = 0;
  GLOVE_RETURN_IF_ERROR(rows_.read_logged(
      [&](int64_t id, RowVector found, std::span<const float> vector, const std::string& fault) -> Status {
        ++logged;
        for (StoredSegment& stored : segments)
          if (const auto row = stored.segment->find(id)) stored.kill(*row);
        return fresh.add(id, found, vector, fault);
      }));
  if (logged == 0 && !join_all) return {};
  if (fresh.rows() > 0) {
    StoredSegment stored;
    stored.record.rows = fresh.rows();
    GLOVE_ASSIGN_OR_RETURN(stored.segment, live::Segment::parse(fresh.finish(), stored.record.rows,
                                                                rows_.dims(), "a new segment"));
    segments.push_back(std::move(stored));
  }
  if (join_all)
    for (StoredSegment& stored : segments) GLOVE_RETURN_IF_ERROR(kill_missing(stored));
  std::vector<live::SegmentSize> sizes;
  for (const StoredSegment& stored : segments) sizes.push_back({stored.record.rows, stored.dead_rows()});
  std::vector<size_t> joined = live::segments_to_join(sizes);
  if (join_all && (segments.size() > 1 || (!sizes.empty() && sizes.front().dead > 0))) {
    joined.resize(segments.size());
    std::iota(joined.begin(), joined.end(), size_t{0});
  }
  if (!join_all)
    for (const size_t i : joined) GLOVE_RETURN_IF_ERROR(kill_missing(segments[i]));
  GLOVE_RETURN_IF_ERROR(write_segments(segments, joined));
  if (config.dims == 0 && !segments.empty())
    GLOVE_RETURN_IF_ERROR(store_.set_config({rows_.dims(), config.fingerprint}));
  return store_.clear_log();
}

// Marks the rows dead that the content no longer has. Their deletion is not in the log if it called no
// trigger, as that of REPLACE does not.
Status IndexCommands::kill_missing(StoredSegment& stored) {
  const std::span<const int64_t> ids = stored.segment->ids();
  for (int64_t row = 0; row < stored.record.rows; ++row) {
    if (stored.is_dead(row)) continue;
    GLOVE_ASSIGN_OR_RETURN(const bool exists, rows_.exists(ids[static_cast<size_t>(row)]));
    if (!exists) stored.kill(row);
  }
  return {};
}

// Makes the bytes of one segment of the living rows of several.
Result<Buffer<char>> IndexCommands::join(const std::vector<StoredSegment>& segments,
                                         const std::vector<size_t>& joined, int64_t& rows) {
  struct Place {
    int64_t id;
    size_t segment;
    int64_t row;
  };
  std::vector<Place> places;
  for (const size_t i : joined)
    for (int64_t row = 0; row < segments[i].record.rows; ++row)
      if (!segments[i].is_dead(row))
        places.push_back({segments[i].segment->ids()[static_cast<size_t>(row)], i, row});
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.id < b.id; });
  rows = static_cast<int64_t>(places.size());
  if (rows == 0) return Buffer<char>();
  live::SegmentBuilder builder(segments.front().segment->dims());
  for (size_t i = 0; i < places.size(); ++i) {
    if (i > 0 && places[i].id == places[i - 1].id)
      return Error{ErrorCode::kCorrupt, index_.name + " is damaged: two segments have the row " +
                                            std::to_string(places[i].id) + "; run the command 'rebuild'"};
    builder.copy(*segments[places[i].segment].segment, places[i].row);
  }
  return builder.finish();
}

// Writes what has changed: the segments at the positions `joined` become one. A segment that the database
// does not have yet has the id 0.
Status IndexCommands::write_segments(std::vector<StoredSegment>& segments,
                                     const std::vector<size_t>& joined) {
  int64_t joined_rows = 0;
  GLOVE_ASSIGN_OR_RETURN(Buffer<char> bytes, join(segments, joined, joined_rows));
  for (size_t i = 0; i < segments.size(); ++i) {
    const StoredSegment& stored = segments[i];
    if (std::binary_search(joined.begin(), joined.end(), i)) {
      if (stored.record.id != 0) GLOVE_RETURN_IF_ERROR(store_.remove(stored.record.id));
    } else if (stored.record.id == 0) {
      GLOVE_RETURN_IF_ERROR(store_.add(stored.segment->bytes(), stored.record.rows));
    } else if (!stored.dead.empty()) {
      GLOVE_RETURN_IF_ERROR(store_.set_dead(stored));
    }
  }
  return joined_rows == 0 ? Status() : store_.add(bytes, joined_rows);
}

Status IndexCommands::rebuild() {
  GLOVE_RETURN_IF_ERROR(check_content(connection_.db(), index_));
  GLOVE_RETURN_IF_ERROR(rows_.begin(index_.dims));
  NewSegment fresh(rows_, index_.skip_invalid);
  GLOVE_RETURN_IF_ERROR(
      rows_.read_content([&](int64_t id, RowVector found, std::span<const float> vector,
                             const std::string& fault) { return fresh.add(id, found, vector, fault); }));
  const int64_t rows = fresh.rows();
  const int64_t dims = rows == 0 ? index_.dims : rows_.dims();
  GLOVE_RETURN_IF_ERROR(drop_triggers(connection_.db(), index_));
  GLOVE_RETURN_IF_ERROR(create_triggers(connection_.db(), index_));
  GLOVE_RETURN_IF_ERROR(store_.clear());
  GLOVE_RETURN_IF_ERROR(store_.set_config({dims, rows_.fingerprint()}));
  return rows == 0 ? Status() : store_.add(fresh.finish(), rows);
}

Result<std::string> IndexCommands::problem() {
  const Status checked = check_index(connection_.db(), index_);
  if (!checked.ok()) return checked.error().message;
  return find_problem(index_, store_, rows_);
}

}  // namespace glove::sql
