#include "sql/index/index_commands.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "base/concat.h"
#include "base/float_from_chars.h"
#include "base/scope_exit.h"
#include "live/merge_rule.h"
#include "sql/adapter/own_statement.h"
#include "sql/index/content_schema.h"
#include "sql/index/index_schema.h"
#include "sql/index/key_table.h"
#include "sql/index/new_segment.h"
#include "sql/index/segment_store.h"

namespace glove::sql {
namespace {

int64_t next_id(const std::vector<StoredSegment>& segments) {
  return segments.empty() ? 1 : segments.back().record.id + 1;
}

int64_t living_rows_of(const std::vector<StoredSegment>& segments) {
  int64_t living = 0;
  for (const StoredSegment& stored : segments) living += stored.record.rows - stored.dead_rows();
  return living;
}

}  // namespace

Status IndexCommands::create() {
  GLOVE_RETURN_IF_ERROR(check_content(db(), index_));
  if (index_.is_attached) GLOVE_RETURN_IF_ERROR(check_is_free());
  GLOVE_RETURN_IF_ERROR(check_trigger_names(db(), index_));
  GLOVE_RETURN_IF_ERROR(create_tables(db(), index_));
  return reported("creating", [this] { return rebuild(/*is_new=*/true); });
}

Status IndexCommands::check_is_free() {
  GLOVE_RETURN_IF_ERROR(check_name_is_free(db(), index_));
  GLOVE_ASSIGN_OR_RETURN(const bool exists, has_object(db(), index_, "table", index_.name + "_config"));
  if (!exists) return {};
  return index_error(index_, "the schema ", index_.schema, " has a table '", index_.name,
                     "_config' already; if it is that of an index in temp, run SELECT glove_attach('",
                     index_.schema, "')");
}

// Runs body(), while which the log and other connections are told what the command does.
template <class Body>
auto IndexCommands::reported(const char* doing, Body&& body) -> decltype(body()) {
  IndexProgress progress(connection_, index_, doing);
  progress_ = &progress;
  rows_.report_to(&progress);
  const ScopeExit ending([this] {  // also if memory runs out
    rows_.report_to(nullptr);
    rows_.reuse(nullptr);
    progress_ = nullptr;
  });
  return std::forward<Body>(body)();
}

// In a transaction of the user's, SQLite keeps what a table has written for an INSERT of one row that then
// fails, and it refuses a SAVEPOINT while a statement writes. But it undoes an INSERT ... SELECT as a whole.
Status IndexCommands::run(std::string_view command) {
  // Without them it fails, because the index cannot have the triggers (3.24).
  if (!sqlite_has(kSqlitePointers)) return own_work(connection_, index_, [&] { return work(command); });
  Passed passed{command, std::nullopt};
  OwnStatement insert;
  GLOVE_RETURN_IF_ERROR(insert.prepare(
      db(), "INSERT INTO " + index_.table() + "(" + quoted_name(index_.name) + ") SELECT ?", index_.name));
  OwnStatement::Run run(insert);
  Status ended = run.bind_pointer(&passed, kPassed).finish();
  if (passed.status.has_value() && !passed.status->ok()) return *passed.status;
  if (!ended.ok() || passed.status.has_value()) return ended;
  return {ErrorCode::kInvalidArgument, index_.name + ": the command '" + std::string(command) +
                                           "' was not run, because the authorizer of this connection "
                                           "ignores a part of it (SQLITE_IGNORE); let it allow the command"};
}

std::optional<Status> IndexCommands::run_if_passed(sqlite3_value* value) {
  if (!sqlite_has(kSqlitePointers)) return std::nullopt;
  auto* const passed = static_cast<Passed*>(sqlite3_value_pointer(value, kPassed));
  if (passed == nullptr) return std::nullopt;
  passed->status = own_work(connection_, index_, [&] { return work(passed->command); });
  return passed->status;
}

Status IndexCommands::work(std::string_view command) {
  if (command == "rebuild") return reported("rebuilding", [this] { return rebuild(); });
  if (command == "repair") return reported("repairing", [this] { return repair(); });
  if (command == "integrity-check") {
    GLOVE_ASSIGN_OR_RETURN(const std::string found, reported("checking", [this] { return problem(); }));
    return found.empty() ? Status() : Status(ErrorCode::kCorrupt, found);
  }
  constexpr std::string_view kSomeRows = "sync=";
  const bool merge = command == "merge";
  int64_t most = std::numeric_limits<int64_t>::max();
  bool is_known = merge || command == "sync";
  if (command.starts_with(kSomeRows)) {
    most = number_from<int64_t>(command.substr(kSomeRows.size())).value_or(0);
    is_known = most > 0;
  }
  if (!is_known)
    return {ErrorCode::kInvalidArgument, index_.name + ": there is no command " + quoted_value(command) +
                                             "; the commands are: sync, sync=N with a positive N, merge, "
                                             "rebuild, repair, integrity-check, calibrate"};
  GLOVE_RETURN_IF_ERROR(check_index(db(), index_));
  return reported(merge ? "merging" : "syncing", [&] { return sync(merge, most); });
}

Status IndexCommands::sync(bool join_all, int64_t most) {
  GLOVE_ASSIGN_OR_RETURN(IndexConfig config, store_.config());
  GLOVE_ASSIGN_OR_RETURN(auto segments, store_.segments().list(config.dims));
  GLOVE_RETURN_IF_ERROR(rows_.begin(config.dims, config));
  GLOVE_ASSIGN_OR_RETURN(const int64_t logged, store_.count_logged());
  if (logged == 0 && !join_all && store_.gone() == 0) return {};
  GLOVE_ASSIGN_OR_RETURN(const int64_t last, store_.last_logged(most));
  const Status moved = move_log(segments, std::min(logged, most), last);
  GLOVE_RETURN_IF_ERROR(rows_.check_types());
  GLOVE_RETURN_IF_ERROR(moved);
  const bool has_dims = config.dims != 0;
  config.dims = rows_.dims();
  GLOVE_ASSIGN_OR_RETURN(const bool look_in_all, join_all ? Result<bool>(true) : has_missing(segments));
  if (look_in_all)
    for (StoredSegment& stored : segments) GLOVE_RETURN_IF_ERROR(kill_missing(stored));
  const int64_t living = living_rows_of(segments);
  const auto calibration = config.recall;
  const auto former_lists = config.lists;
  IndexLists lists(connection_, index_, store_.segments(), config);
  lists.plan(living, join_all);
  const std::vector<size_t> joined = joined_segments(segments, join_all, lists.are_due());
  if (!look_in_all)
    for (const size_t i : joined) GLOVE_RETURN_IF_ERROR(kill_missing(segments[i]));
  GLOVE_RETURN_IF_ERROR(write_segments(segments, joined, lists, last));
  if (join_all && index_.has_key_table) GLOVE_RETURN_IF_ERROR(KeyTable(connection_, index_).remove_gone());
  if (joined.empty()) GLOVE_RETURN_IF_ERROR(lists.calibrate_again(segments));
  if ((!has_dims && !segments.empty()) || lists.are_due() || config.recall != calibration ||
      config.lists != former_lists)
    return store_.set_config(config);
  return {};
}

// Returns the positions of the segments that become one. Lists are trained on one segment that has all rows.
std::vector<size_t> IndexCommands::joined_segments(const std::vector<StoredSegment>& segments, bool join_all,
                                                   bool lists_are_due) const {
  std::vector<live::SegmentSize> sizes;
  sizes.reserve(segments.size());
  for (const StoredSegment& stored : segments) sizes.push_back({stored.record.rows, stored.dead_rows()});
  std::vector<size_t> joined = live::segments_to_join(sizes);
  if (segments.empty()) return joined;
  const bool one_is_whole = segments.size() == 1 && sizes.front().dead == 0;
  if ((join_all && !one_is_whole) || (lists_are_due && !(one_is_whole && segments.front().is_new))) {
    joined.resize(segments.size());
    std::iota(joined.begin(), joined.end(), size_t{0});
  }
  return joined;
}

// Makes a segment of the logged rows, and marks them dead in the other ones.
Status IndexCommands::move_log(std::vector<StoredSegment>& segments, int64_t logged, int64_t last_logged) {
  if (logged > 0)
    for (StoredSegment& stored : segments)
      GLOVE_RETURN_IF_ERROR(store_.segments().load_ids(stored, rows_.dims()));
  GLOVE_ASSIGN_OR_RETURN(CodingPtr coding, store_.segments().coding(rows_.dims()));
  if (index_.metric != RowMetric::kCosine && coding == nullptr && !segments.empty())
    return damaged_index(index_, "the mean of its rows is gone");
  NewSegment fresh(index_, vectors_, next_id(segments), logged, std::move(coding));
  GLOVE_RETURN_IF_ERROR(rows_.read_logged(
      [&](const ContentRow& row) -> Status {
        for (StoredSegment& stored : segments) stored.kill_id(row.id);
        return fresh.add(rows_, row);
      },
      last_logged));
  if (fresh.rows() == 0) return {};
  StoredSegment& stored = segments.emplace_back();
  stored.is_new = true;
  stored.record.id = fresh.id();
  stored.record.rows = fresh.rows();
  GLOVE_ASSIGN_OR_RETURN(stored.segment, fresh.finish());
  return {};
}

// Whether segments certainly have rows that the content no longer has: a search has met some, or there are
// more than the content has rows. Rows of the content without a vector may hide that.
Result<bool> IndexCommands::has_missing(const std::vector<StoredSegment>& segments) {
  GLOVE_ASSIGN_OR_RETURN(const bool possible, can_lose_rows(db(), index_));
  if (!possible || store_.gone() > 0) return possible;
  GLOVE_ASSIGN_OR_RETURN(const int64_t rows,
                         query("SELECT count(*) FROM " + index_.content_table()).next_integer());
  return living_rows_of(segments) > rows;
}

// Marks the rows dead that the content no longer has. Their deletion is not in the log if it called no
// trigger, as that of REPLACE does not.
Status IndexCommands::kill_missing(StoredSegment& stored) {
  GLOVE_RETURN_IF_ERROR(store_.segments().load_ids(stored, rows_.dims()));
  const std::span<const int64_t> ids = stored.row_ids();
  for (int64_t row = 0; row < stored.record.rows; ++row) {
    if (stored.is_dead(row)) continue;
    GLOVE_ASSIGN_OR_RETURN(const bool exists, rows_.exists(ids[static_cast<size_t>(row)]));
    if (!exists) stored.kill(row);
    progress_->set("looking for deleted rows,", row + 1, stored.record.rows);
  }
  return {};
}

// Adds the living rows of several segments to a new one.
Status IndexCommands::join(std::vector<StoredSegment>& segments, const std::vector<size_t>& joined,
                           NewSegment& whole) {
  std::vector<LivingRow> places;
  for (const size_t i : joined) {
    GLOVE_RETURN_IF_ERROR(store_.segments().load(segments[i], rows_.dims()));
    append_living(segments[i], places);
  }
  std::ranges::sort(places, {}, &LivingRow::id);
  for (size_t i = 0; i < places.size(); ++i) {
    GLOVE_RETURN_IF_ERROR(progress_->set_and_poll("joining segments, row", static_cast<int64_t>(i + 1),
                                                  static_cast<int64_t>(places.size())));
    if (i > 0 && places[i].id == places[i - 1].id)
      return damaged_index(index_, "two segments have the row ", places[i].id);
    GLOVE_RETURN_IF_ERROR(whole.copy(*places[i].stored, places[i].row));
  }
  return {};
}

// An error if a new segment or a list of dead rows is longer than the connection allows. `made` may be null.
Status IndexCommands::check_lengths(const std::vector<StoredSegment>& segments, const live::SegmentPtr& made,
                                    const IndexLists& lists) {
  const SegmentStore& store = store_.segments();
  GLOVE_RETURN_IF_ERROR(store.check_segment_length(lists.bytes_to_write()));
  if (made != nullptr) GLOVE_RETURN_IF_ERROR(store.check_segment_length(made->bytes().size()));
  for (const StoredSegment& stored : segments) {
    if (stored.is_new) GLOVE_RETURN_IF_ERROR(store.check_segment_length(stored.segment->bytes().size()));
    GLOVE_RETURN_IF_ERROR(store.check_length(stored.dead.size()));
  }
  return {};
}

// Empties the log and writes what has changed: the segments at the positions `joined` become one.
Status IndexCommands::write_segments(std::vector<StoredSegment>& segments, const std::vector<size_t>& joined,
                                     IndexLists& lists, int64_t last_logged) {
  int64_t joined_rows = 0;
  for (const size_t i : joined) joined_rows += segments[i].record.rows - segments[i].dead_rows();
  NewSegment whole(index_, vectors_, next_id(segments), joined_rows);
  GLOVE_RETURN_IF_ERROR(join(segments, joined, whole));
  live::SegmentPtr made;
  if (whole.rows() > 0) {
    GLOVE_ASSIGN_OR_RETURN(made, whole.finish());
    GLOVE_RETURN_IF_ERROR(lists.put(made));
  }
  for (size_t i = 0; i < segments.size(); ++i)
    if (segments[i].is_new && !std::binary_search(joined.begin(), joined.end(), i))
      GLOVE_RETURN_IF_ERROR(lists.put(segments[i].segment));
  SegmentStore& store = store_.segments();
  GLOVE_RETURN_IF_ERROR(check_lengths(segments, made, lists));
  GLOVE_RETURN_IF_ERROR(
      store_.clear_log(last_logged));  // first, so that the blocks are written into its pages
  for (size_t i = 0; i < segments.size(); ++i) {
    const StoredSegment& stored = segments[i];
    if (std::binary_search(joined.begin(), joined.end(), i)) {
      if (!stored.is_new) GLOVE_RETURN_IF_ERROR(store.remove(stored.record.id));
      if (index_.is_text) GLOVE_RETURN_IF_ERROR(vectors_.remove(stored.record.id));
    } else if (stored.is_new) {
      GLOVE_RETURN_IF_ERROR(store.add(stored.record.id, stored.segment));
    } else if (stored.dead_has_grown) {
      GLOVE_RETURN_IF_ERROR(store.set_dead(stored));
    }
  }
  GLOVE_RETURN_IF_ERROR(lists.write());
  return made == nullptr ? Status() : store.add(whole.id(), made);
}

// Whether a new index leaves its rows in the log, because encoding them would take long.
Result<bool> IndexCommands::must_wait() {
  GLOVE_RETURN_IF_ERROR(rows_.check_metric());
  if (!rows_.encodes_slowly()) return false;
  GLOVE_ASSIGN_OR_RETURN(const int64_t limit, connection_.engine().settings().encode_limit());
  GLOVE_ASSIGN_OR_RETURN(const int64_t rows,
                         query("SELECT count(*) FROM " + index_.content_table()).next_integer());
  return rows > limit;
}

Status IndexCommands::rebuild(bool is_new) {
  GLOVE_RETURN_IF_ERROR(check_content(db(), index_));
  GLOVE_RETURN_IF_ERROR(create_missing_tables(db(), index_));
  if (index_.has_key_table) {
    GLOVE_RETURN_IF_ERROR(KeyTable(connection_, index_).add_missing());
    GLOVE_RETURN_IF_ERROR(KeyTable(connection_, index_).remove_gone());
  }
  GLOVE_ASSIGN_OR_RETURN(const std::string model, store_.stored_model());
  GLOVE_RETURN_IF_ERROR(rows_.begin(index_.dims, model));
  int64_t id = 1;
  if (index_.is_text) {
    GLOVE_ASSIGN_OR_RETURN(id, vectors_.unused_segment());
  }
  NewSegment fresh(index_, vectors_, id, 0);
  KnownTexts known(store_, vectors_);
  if (index_.is_text) GLOVE_RETURN_IF_ERROR(known.read(rows_.fingerprint()));
  rows_.reuse(&known);
  bool waits = false;
  if (is_new) {
    GLOVE_ASSIGN_OR_RETURN(waits, must_wait());
  }
  const Status read =
      waits ? Status() : rows_.read_content([&](const ContentRow& row) { return fresh.add(rows_, row); });
  GLOVE_RETURN_IF_ERROR(rows_.check_types());
  GLOVE_RETURN_IF_ERROR(read);
  rows_.reuse(nullptr);
  IndexConfig config{fresh.rows() == 0 ? index_.dims : rows_.dims(), rows_.fingerprint(), 0,
                     rows_.model_to_store()};
  IndexLists lists(connection_, index_, store_.segments(), config);
  lists.plan(fresh.rows(), false);
  live::SegmentPtr made;
  if (fresh.rows() > 0) {
    GLOVE_ASSIGN_OR_RETURN(made, fresh.finish());
    GLOVE_RETURN_IF_ERROR(lists.put(made));
  }
  GLOVE_RETURN_IF_ERROR(check_lengths({}, made, lists));
  GLOVE_RETURN_IF_ERROR(drop_triggers(db(), index_));
  GLOVE_RETURN_IF_ERROR(create_triggers(db(), index_));
  GLOVE_RETURN_IF_ERROR(store_.clear());
  if (waits)
    GLOVE_RETURN_IF_ERROR(store_.log_all("SELECT " + row_id(index_) + " FROM " + row_source(index_)));
  if (index_.is_text) GLOVE_RETURN_IF_ERROR(vectors_.remove_others(id));
  GLOVE_RETURN_IF_ERROR(store_.set_config(config));
  GLOVE_RETURN_IF_ERROR(lists.write());
  return made == nullptr ? Status() : store_.segments().add(id, made);
}

}  // namespace glove::sql
