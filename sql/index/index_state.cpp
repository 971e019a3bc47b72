// What a statement sees of an index: its segments, and the log.

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <utility>

#include "base/float_environment.h"
#include "live/segment_encoder.h"
#include "sql/index/index_store.h"

namespace glove::sql {
namespace {

// More components of logged rows than this (16 MiB) are read again by each statement.
constexpr size_t kMostKeptComponents = size_t{4} << 20;
// More logged rows than this are kept as a segment. A candidate of one that is a text is encoded again.
constexpr int64_t kMostScoredRows = 256;
constexpr int64_t kMostScoredTexts = 1024;

// Hides the rows of the segments that the log names. Both are ascending.
void hide_logged(const live::PartSet& parts, std::span<const int64_t> logged, std::vector<int32_t>& hidden) {
  for (size_t i = 0; i < parts.segments().size(); ++i) {
    const std::span<const int64_t> ids = parts.segments()[i]->ids();
    auto from = ids.begin();
    for (auto id = std::lower_bound(logged.begin(), logged.end(), ids.front());
         id != logged.end() && *id <= ids.back(); ++id) {
      from = std::lower_bound(from, ids.end(), *id);
      if (from != ids.end() && *from == *id)
        hidden.push_back(static_cast<int32_t>(parts.first_row(i) + (from - ids.begin())));
    }
  }
}

// Hides the dead rows of a segment whose first row is `first`.
void hide_dead(const StoredSegment& stored, int64_t first, std::vector<int32_t>& hidden) {
  for (size_t byte = 0; byte < stored.dead.size(); ++byte)
    for (unsigned bits = static_cast<unsigned char>(stored.dead[byte]); bits != 0; bits &= bits - 1)
      hidden.push_back(static_cast<int32_t>(first + static_cast<int64_t>(8 * byte) + std::countr_zero(bits)));
}

}  // namespace

std::vector<int64_t> all_ids(const live::IndexState& state) {
  std::vector<int64_t> ids = state.changed->ids;
  auto hidden = state.hidden.begin();
  for (int32_t row = 0; state.parts != nullptr && row < state.parts->model().words(); ++row) {
    if (hidden != state.hidden.end() && *hidden == row)
      ++hidden;
    else
      ids.push_back(state.parts->id_of(row));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<int64_t> ids_among(const live::IndexState& state, std::span<const int64_t> wanted) {
  std::vector<int64_t> ids;
  for (const int64_t id : wanted) {
    if (std::ranges::binary_search(state.changed->ids, id) || live::row_of(state, id)) ids.push_back(id);
  }
  return ids;
}

// Returns a number that identifies what the running statement sees of the index and its content; nullopt if
// none does. The number changes with every commit to the database file, by this connection or any other one
// (SQLITE_FCNTL_DATA_VERSION), so the statement must see a commit and no less: it reads, which keeps the
// version from changing under it, this connection has written nothing that could still be rolled back, and
// it does not read what a connection with the same page cache (shared-cache mode) has not committed.
std::optional<uint32_t> IndexStore::committed_version() {
  if (!sqlite_has(kSqliteTxnState) || sqlite3_txn_state(db(), index_.schema.c_str()) != SQLITE_TXN_READ)
    return std::nullopt;
  OwnQuery run = query("PRAGMA read_uncommitted");  // SQLite evaluates it when it prepares it
  const Result<bool> found = run.next();
  if (!found.ok() || !found.value() || run.integer(0) != 0) return std::nullopt;
  uint32_t version = 0;
  if (sqlite3_file_control(db(), index_.schema.c_str(), SQLITE_FCNTL_DATA_VERSION, &version) != SQLITE_OK)
    return std::nullopt;
  return version;
}

// Returns a statement's copy of the kept state. A row that is gone for a statement that sees the same
// committed version is so for the next ones.
live::IndexState IndexStore::remembering(const CommittedState& committed) {
  live::IndexState state = committed.state;
  state.found_gone = [this, version = committed.version](int32_t row) {
    if (!committed_ || committed_->version != version || committed_version() != version) return;
    live::IndexState& kept = committed_->state;
    const size_t hidden = kept.hidden.size();
    live::hide_row(kept, row);
    if (hidden == kept.hidden.size() || kept.parts->place_of(row).first >= committed_->stored) return;
    kept.parts->found_gone(++committed_->gone);
  };
  return state;
}

Result<live::IndexState> IndexStore::state(ContentRows& rows, const KeySet* among,
                                           const std::optional<SeenState>& sees) {
  const bool is_committed = sees && sees->statement == 0;
  if (is_committed && committed_ && committed_->version == sees->version) {
    GLOVE_RETURN_IF_ERROR(rows.begin(committed_->state.dims, committed_->config));
    former_parts_.reset();
    return remembering(*committed_);
  }
  if (uncommitted_ && uncommitted_->seen == sees) {
    GLOVE_RETURN_IF_ERROR(rows.begin(uncommitted_->state.dims, uncommitted_->config));
    return uncommitted_->state;
  }
  uncommitted_.reset();
  GLOVE_ASSIGN_OR_RETURN(const IndexConfig stored_config, config());
  const auto version = is_committed ? std::optional(sees->version) : std::nullopt;
  Result<live::IndexState> all = read_state(stored_config, {rows, nullptr, version});
  if (!all.ok() && all.error().code != ErrorCode::kInterrupted && among != nullptr)
    return read_state(stored_config, {rows, among, std::nullopt});
  if (all.ok() && sees && !is_committed && all.value().changed->vectors.size() <= kMostKeptComponents)
    uncommitted_ = {*sees, stored_config, all.value()};
  return all;
}

// Returns what was logged since the log was this one, by ascending places; nullopt if it never was.
Result<std::optional<IndexStore::LogChanges>> IndexStore::changes_since(std::span<const LogEntry> log) {
  OwnStatement& statement = counts_ ? counting_log_ : log_;
  GLOVE_RETURN_IF_ERROR(prepare(statement, std::string("SELECT rowid, id, ") + (counts_ ? "again" : "0") +
                                               " FROM " + index_.object("_log") + " WHERE rowid >= ?1 " +
                                               (counts_ ? "OR again <> 0 " : "") + "ORDER BY rowid"));
  OwnStatement::Run run(statement);
  run.bind(log.empty() ? std::numeric_limits<int64_t>::min() : log.back().place);
  LogChanges changes;
  auto at = log.begin();
  bool ends_alike = log.empty();
  bool grew = true;
  GLOVE_RETURN_IF_ERROR(run.for_each([&] {
    const LogEntry entry{run.integer(0), run.integer(1), run.integer(2)};
    // Those that are not returned have the number 0.
    for (; at != log.end() && at->place < entry.place; ++at) grew = grew && at->again == 0;
    const bool known = at != log.end() && at->place == entry.place;
    ends_alike = ends_alike || (known && at + 1 == log.end());
    grew = grew && (known || ends_alike) && (!known || (at->id == entry.id && at->again <= entry.again));
    changes.count += entry.again + (known ? -at->again : 2);
    if (!known || at->again != entry.again) changes.entries.push_back(entry);
    if (known) ++at;
  }));
  if (!grew || !ends_alike) return std::optional<LogChanges>();
  return std::optional(std::move(changes));
}

// Reads the segments.
Result<IndexStore::CommittedState> IndexStore::stored_state(const IndexConfig& config, ContentRows& rows) {
  CommittedState read{0, 0, config, 0, {}, {}};
  live::IndexState& state = read.state;
  state.dims = config.dims;
  state.metric = index_.metric;
  state.log = config.log;
  state.changed = std::make_shared<live::LiveRows>();
  GLOVE_ASSIGN_OR_RETURN(auto stored, segments_.list(state.dims));
  for (StoredSegment& segment : stored) GLOVE_RETURN_IF_ERROR(segments_.load_for_search(segment, state.dims));
  GLOVE_RETURN_IF_ERROR(rows.begin(state.dims, config));
  live::IndexRecallPtr recall;
  if (is_calibrated(config, stored)) {
    GLOVE_ASSIGN_OR_RETURN(recall, segments_.recall(config.dims, *config.recall));
  }
  std::vector<live::SegmentPtr> parts;
  parts.reserve(stored.size());
  for (const StoredSegment& one : stored) parts.push_back(one.segment);
  state.parts = parts_of(parts, recall);
  for (size_t i = 0; i < stored.size(); ++i) {
    state.segment_ids.push_back(stored[i].record.id);
    hide_dead(stored[i], state.parts->first_row(i), state.hidden);
  }
  read.stored = stored.size();
  return read;
}

// With `among`, reads only those logged rows that have a key of the set.
Result<live::IndexState> IndexStore::read_state(const IndexConfig& config, Reading reading) {
  GLOVE_ASSIGN_OR_RETURN(const int64_t schema, schema_version());
  std::optional<LogChanges> fresh;
  const bool may_extend = counts_ && committed_ && committed_->schema_version == schema &&
                          committed_->config.log == config.log && reading.among == nullptr;
  if (may_extend) {
    GLOVE_ASSIGN_OR_RETURN(fresh, changes_since(committed_->log));
  }
  std::optional<CommittedState> next;
  if (fresh) {
    next = {0, schema, config, committed_->stored, {}, committed_->state};
    next->gone = committed_->gone;
    former_parts_.reset();
    GLOVE_RETURN_IF_ERROR(reading.rows.begin(next->state.dims, config));
  } else {
    if (reading.version) committed_.reset();
    GLOVE_ASSIGN_OR_RETURN(next, stored_state(config, reading.rows));
    GLOVE_ASSIGN_OR_RETURN(fresh, changes_since({}));
    if (std::ssize(fresh->entries) > kMostLogged) tell_that_sync_is_due(fresh->entries.size());
  }
  next->state.changes = counts_ ? next->state.changes + fresh->count : -1;
  if (next->log.empty() && next->stored == next->state.segment_ids.size())
    reading.key = segments_.shared_key({0, "log " + std::to_string(schema), next->state.changes, config.log},
                                       config.dims);
  std::vector<int64_t> ids;
  for (const LogEntry& entry : fresh->entries) ids.push_back(entry.id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  GLOVE_RETURN_IF_ERROR(add_changed(*next, std::move(ids), reading));
  if (!reading.version) return std::move(next->state);
  next->version = *reading.version;
  next->schema_version = schema;
  if (committed_) next->log = std::move(committed_->log);
  for (const LogEntry& entry : fresh->entries) {
    const auto known = std::ranges::lower_bound(next->log, entry.place, {}, &LogEntry::place);
    if (known == next->log.end())
      next->log.push_back(entry);
    else
      *known = entry;
  }
  committed_.reset();
  if (next->state.changed->vectors.size() > kMostKeptComponents) return std::move(next->state);
  committed_ = std::move(next);
  return remembering(*committed_);
}

// Puts logged rows, whose ids are ascending, into a state, in place of their former ones. Makes a segment of
// them if they will be kept and are many.
Status IndexStore::add_changed(CommittedState& to, std::vector<int64_t> ids, const Reading& reading) {
  live::IndexState& state = to.state;
  if (ids.empty()) return {};
  const live::LiveRows& former = *state.changed;
  if (state.parts != nullptr) {
    const auto before = std::ssize(state.hidden);
    hide_logged(*state.parts, ids, state.hidden);
    std::sort(state.hidden.begin() + before, state.hidden.end());
    std::inplace_merge(state.hidden.begin(), state.hidden.begin() + before, state.hidden.end());
    state.hidden.erase(std::unique(state.hidden.begin(), state.hidden.end()), state.hidden.end());
  }
  std::vector<int64_t> all;
  std::set_union(ids.begin(), ids.end(), former.ids.begin(), former.ids.end(), std::back_inserter(all));
  if (counts_ && reading.version && std::ssize(all) > (index_.is_text ? kMostScoredTexts : kMostScoredRows)) {
    GLOVE_ASSIGN_OR_RETURN(const std::optional<live::SegmentPtr> segment, encode(all, reading));
    if (segment) {
      state.changed = std::make_shared<live::LiveRows>();
      if (*segment == nullptr) return {};
      if (state.dims == 0) GLOVE_RETURN_IF_ERROR(reading.rows.begin((*segment)->dims(), to.config));
      state.dims = (*segment)->dims();
      GLOVE_ASSIGN_OR_RETURN(auto segments, live::add_log_segment(state, to.stored, *segment));
      state.parts = parts_of(segments, state.parts == nullptr ? nullptr : state.parts->recall());
      state.parts->found_gone(to.gone);
      return {};
    }
  }
  std::vector<int64_t> admitted = ids;
  if (reading.among != nullptr)
    std::erase_if(admitted, [&](int64_t id) { return !reading.among->contains(id); });
  live::LiveRows fresh;
  GLOVE_RETURN_IF_ERROR(reading.rows.read_rows(admitted, [&](const ContentRow& row) -> Status {
    if (row.found == RowVector::kVector && live::is_in_relation(index_.metric, row.norm_squared))
      fresh.add(row.id, row.vector, row.norm_squared);
    return {};
  }));
  const auto changed = std::make_shared<live::LiveRows>();
  for (size_t i = 0, j = 0; const int64_t id : all) {
    const bool kept = i < former.ids.size() && former.ids[i] == id;
    if (j < fresh.ids.size() && fresh.ids[j] == id) {
      changed->add(id, fresh.vector(j), fresh.norms_squared[j]);
      ++j;
    } else if (kept && !std::ranges::binary_search(ids, id)) {
      GLOVE_ASSIGN_OR_RETURN(const bool exists, reading.rows.exists(id));  // REPLACE deletes without a trace
      if (exists) changed->add(id, former.vector(i), former.norms_squared[i]);
    }
    if (kept) ++i;
  }
  state.changed = changed;
  state.dims = reading.rows.dims();
  return {};
}

// Makes a segment of those of these rows that are in the relation; null if none is. Returns nullopt if memory
// has no room for it. `ids` are ascending.
Result<std::optional<live::SegmentPtr>> IndexStore::encode(std::span<const int64_t> ids,
                                                           const Reading& reading) {
  const ScopedFloatEnvironment float_environment;
  ContentRows& rows = reading.rows;
  if (live::SegmentPtr found = live::find_segment(reading.key)) return std::optional(std::move(found));
  const auto has_room = [&](int64_t count) {
    return segments_.has_room(
        live::segment_bytes(count, std::max<int64_t>(rows.dims(), 1), live::kind_of(index_.metric)));
  };
  GLOVE_ASSIGN_OR_RETURN(bool room, has_room(std::ssize(ids)));
  if (!room) return std::optional<live::SegmentPtr>();
  CodingPtr coding;
  std::optional<live::SegmentBuilder> builder;
  std::optional<live::SegmentEncoder> encoder;
  GLOVE_RETURN_IF_ERROR(rows.read_rows(ids, [&](const ContentRow& row) -> Status {
    if (row.found != RowVector::kVector || !live::is_in_relation(index_.metric, row.norm_squared)) return {};
    if (!builder) {
      GLOVE_ASSIGN_OR_RETURN(coding, segments_.coding_of_log(std::ssize(row.vector)));
      builder.emplace(std::ssize(row.vector), std::ssize(ids), coding);
      encoder.emplace(*builder);
    }
    encoder->add(row.id, row.vector, row.norm_squared);
    return {};
  }));
  if (!builder) return std::optional(live::SegmentPtr());
  encoder->finish();
  const int64_t count = builder->rows();
  GLOVE_ASSIGN_OR_RETURN(room, has_room(count));  // the dimensions are known now
  if (!room) return std::optional<live::SegmentPtr>();
  GLOVE_ASSIGN_OR_RETURN(live::SegmentPtr segment, live::Segment::parse(builder->finish(), count, rows.dims(),
                                                                        live::kLogSegment, {}, coding));
  if (!reading.key.empty()) segment = live::share_segment(reading.key, std::move(segment));
  return std::optional(std::move(segment));
}

}  // namespace glove::sql
