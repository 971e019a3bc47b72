#include "sql/live/index_store.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/crc32.h"
#include "live/segment_cache.h"
#include "model/exact_dot.h"
#include "model/limits.h"
#include "sql/sqlite_features.h"

namespace glove::sql {
namespace {

constexpr size_t kBlockBytes = 1'000'000;
constexpr int64_t kFormatVersion = 1;
// More logged rows than this make queries slow enough to tell.
constexpr size_t kMostLogged = 10'000;
// More components of logged rows than this (16 MiB) are read again by each statement.
constexpr size_t kMostKeptComponents = size_t{4} << 20;

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

void StoredSegment::kill(int64_t row) {
  const auto place = static_cast<size_t>(row);
  if (dead.empty()) dead.assign((static_cast<size_t>(record.rows) + 7) / 8, '\0');
  dead[place / 8] = static_cast<char>(static_cast<unsigned char>(dead[place / 8]) | 1U << (place % 8));
}

int64_t StoredSegment::dead_rows() const {
  int64_t count = 0;
  for (const char byte : dead) count += std::popcount(static_cast<unsigned char>(byte));
  return count;
}

Error IndexStore::damaged(const std::string& what) const {
  return {ErrorCode::kCorrupt, index_.name + " is damaged: " + what + "; run INSERT INTO " +
                                   quoted(index_.name) + "(" + quoted(index_.name) + ") VALUES ('rebuild')"};
}

Status IndexStore::prepare(OwnStatement& statement, const std::string& sql) {
  return statement.prepare(connection_.db(), sql, index_.name);
}

Result<int64_t> IndexStore::schema_version() {
  GLOVE_RETURN_IF_ERROR(prepare(schema_version_, "PRAGMA " + quoted(index_.schema) + ".schema_version"));
  OwnStatement::Run run(schema_version_);
  GLOVE_ASSIGN_OR_RETURN(const bool found, run.next());
  return found ? run.integer(0) : 0;
}

Result<IndexConfig> IndexStore::config() {
  GLOVE_RETURN_IF_ERROR(prepare(config_, "SELECT key, value FROM " + index_.object("_config")));
  OwnStatement::Run run(config_);
  IndexConfig config;
  int64_t version = 0;
  while (true) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, run.next());
    if (!more) break;
    if (run.text(0) == "dims") config.dims = run.integer(1);
    if (run.text(0) == "version") version = run.integer(1);
    if (run.text(0) == "fingerprint") config.fingerprint = run.text(1);
  }
  if (version != kFormatVersion)
    return Error{ErrorCode::kCorrupt,
                 index_.name + " has the format version " + std::to_string(version) +
                     ", but this extension reads version " + std::to_string(kFormatVersion) +
                     "; use the extension that wrote it, or drop the index and create it again"};
  if (config.dims < 0 || config.dims > kMaxDims)
    return damaged("it has " + std::to_string(config.dims) + " dimensions");
  return config;
}

Status IndexStore::set_config(const IndexConfig& config) {
  OwnStatement write;
  GLOVE_RETURN_IF_ERROR(prepare(write, "INSERT OR REPLACE INTO " + index_.object("_config") +
                                           " VALUES ('version', ?), ('dims', ?), ('fingerprint', ?)"));
  OwnStatement::Run run(write);
  return OwnStatement::finish(run.bind(kFormatVersion).bind(config.dims).bind(config.fingerprint));
}

Result<std::vector<SegmentRecord>> IndexStore::records() {
  GLOVE_RETURN_IF_ERROR(
      prepare(segments_, "SELECT id, uuid, rows, crc FROM " + index_.object("_segment") + " ORDER BY id"));
  OwnStatement::Run run(segments_);
  std::vector<SegmentRecord> records;
  int64_t rows = 0;
  while (true) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, run.next());
    if (!more) return records;
    const auto uuid = run.blob(1);
    records.push_back({run.integer(0), std::string(reinterpret_cast<const char*>(uuid.data()), uuid.size()),
                       run.integer(2), run.integer(3)});
    const int64_t more_rows = records.back().rows;
    if (more_rows < 1 || more_rows > kMaxRows - rows)
      return damaged("the segment " + std::to_string(records.back().id) + " has " +
                     std::to_string(more_rows) + " rows");
    rows += more_rows;
  }
}

Result<live::SegmentPtr> IndexStore::read_segment(const SegmentRecord& record, int64_t dims) {
  OwnStatement read;
  GLOVE_RETURN_IF_ERROR(prepare(
      read, "SELECT number, data FROM " + index_.object("_block") + " WHERE segment = ? ORDER BY number"));
  OwnStatement::Run run(read);
  run.bind(record.id);
  const std::string name = "the segment " + std::to_string(record.id);
  const int64_t expected = live::segment_bytes(record.rows, dims);
  Buffer<char> bytes;
  for (int64_t number = 0;; ++number) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, run.next());
    if (!more) break;
    const auto data = run.blob(1);
    if (run.integer(0) != number || data.size() > kBlockBytes ||
        static_cast<int64_t>(bytes.size() + data.size()) > expected)
      return damaged(name + " has a block that does not belong to it, number " +
                     std::to_string(run.integer(0)));
    const auto* const begin = reinterpret_cast<const char*>(data.data());
    bytes.insert(bytes.end(), begin, begin + data.size());
  }
  if (crc32_continue(0, bytes) != static_cast<uint64_t>(record.crc))
    return damaged(name + " does not have the checksum that was stored with it");
  auto segment = live::Segment::parse(std::move(bytes), record.rows, dims, name);
  if (!segment.ok()) return damaged(segment.error().message);
  return segment;
}

Result<std::vector<StoredSegment>> IndexStore::segments(int64_t dims) {
  GLOVE_ASSIGN_OR_RETURN(auto found, records());
  if (dims == 0 && !found.empty()) return damaged("it has segments, but no dimensions");
  std::vector<StoredSegment> segments;
  for (SegmentRecord& record : found) {
    StoredSegment stored;
    const std::string key = record.key() + ":" + std::to_string(dims);
    stored.segment = live::find_segment(key);
    if (stored.segment == nullptr) {
      GLOVE_ASSIGN_OR_RETURN(stored.segment, read_segment(record, dims));
      stored.segment = live::share_segment(key, std::move(stored.segment));
    }
    stored.record = std::move(record);
    segments.push_back(std::move(stored));
  }
  GLOVE_RETURN_IF_ERROR(read_dead(segments));
  return segments;
}

Status IndexStore::read_dead(std::vector<StoredSegment>& segments) {
  GLOVE_RETURN_IF_ERROR(prepare(dead_, "SELECT segment, bits FROM " + index_.object("_dead")));
  OwnStatement::Run run(dead_);
  while (true) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, run.next());
    if (!more) return {};
    const int64_t id = run.integer(0);
    const auto bits = run.blob(1);
    const auto segment = std::find_if(segments.begin(), segments.end(),
                                      [id](const StoredSegment& stored) { return stored.record.id == id; });
    if (segment == segments.end()) return damaged("it has dead rows of a segment that does not exist");
    const auto rows = static_cast<size_t>(segment->record.rows);
    if (bits.size() != (rows + 7) / 8 ||
        (rows % 8 != 0 && std::to_integer<unsigned>(bits.back()) >> (rows % 8) != 0))
      return damaged("the list of dead rows of the segment " + std::to_string(id) + " has the wrong length");
    segment->dead.assign(reinterpret_cast<const char*>(bits.data()), bits.size());
  }
}

live::PartSetPtr IndexStore::parts_of(const std::vector<StoredSegment>& segments) {
  std::vector<live::SegmentPtr> parts;
  for (const StoredSegment& stored : segments) parts.push_back(stored.segment);
  if (parts_ != nullptr && parts_->segments() == parts) {
    former_parts_.reset();
  } else {
    former_parts_ = std::move(parts_);
    parts_ = parts.empty() ? nullptr : live::share_part_set(connection_.engine(), parts);
  }
  return parts_;
}

Result<live::PartSetPtr> IndexStore::searched_parts() {
  GLOVE_ASSIGN_OR_RETURN(const IndexConfig stored_config, config());
  GLOVE_ASSIGN_OR_RETURN(const auto found, records());
  std::vector<live::SegmentPtr> parts;
  for (const SegmentRecord& record : found) {
    parts.push_back(live::find_segment(record.key() + ":" + std::to_string(stored_config.dims)));
    if (parts.back() == nullptr) return live::PartSetPtr();
  }
  return parts.empty() ? nullptr : live::find_part_set(connection_.engine(), parts);
}

// Returns a number that identifies what the running statement sees of the index and its content; nullopt if
// none does. The number changes with every commit to the database file, by this connection or any other one
// (SQLITE_FCNTL_DATA_VERSION), so the statement must see a commit and no less: it reads, which keeps the
// version from changing under it, this connection has written nothing that could still be rolled back, and
// it does not read what a connection with the same page cache (shared-cache mode) has not committed.
std::optional<uint32_t> IndexStore::committed_version() {
  sqlite3* const db = connection_.db();
  if (!sqlite_has(kSqliteTxnState) || sqlite3_txn_state(db, index_.schema.c_str()) != SQLITE_TXN_READ)
    return std::nullopt;
  OwnStatement read;  // SQLite evaluates this pragma when it prepares it
  if (!prepare(read, "PRAGMA read_uncommitted").ok()) return std::nullopt;
  OwnStatement::Run run(read);
  const Result<bool> found = run.next();
  if (!found.ok() || !found.value() || run.integer(0) != 0) return std::nullopt;
  uint32_t version = 0;
  if (sqlite3_file_control(db, index_.schema.c_str(), SQLITE_FCNTL_DATA_VERSION, &version) != SQLITE_OK)
    return std::nullopt;
  return version;
}

Result<live::IndexState> IndexStore::state(ContentRows& rows) {
  const std::optional<uint32_t> version = committed_version();
  if (version && committed_ && committed_->version == *version) {
    GLOVE_RETURN_IF_ERROR(rows.begin(committed_->state.dims, committed_->config.fingerprint));
    former_parts_.reset();
    return committed_->state;
  }
  GLOVE_ASSIGN_OR_RETURN(const IndexConfig stored_config, config());
  GLOVE_ASSIGN_OR_RETURN(live::IndexState state, read_state(stored_config, rows));
  if (version) {
    committed_.reset();
    if (state.changed->vectors.size() <= kMostKeptComponents) committed_ = {*version, stored_config, state};
  }
  return state;
}

Result<live::IndexState> IndexStore::read_state(const IndexConfig& config, ContentRows& rows) {
  live::IndexState state;
  state.dims = config.dims;
  GLOVE_ASSIGN_OR_RETURN(const auto stored, segments(state.dims));
  GLOVE_RETURN_IF_ERROR(rows.begin(state.dims, config.fingerprint));
  state.parts = parts_of(stored);
  for (size_t i = 0; i < stored.size(); ++i) hide_dead(stored[i], state.parts->first_row(i), state.hidden);
  std::vector<int64_t> logged;
  const auto changed = std::make_shared<live::ChangedRows>();
  GLOVE_RETURN_IF_ERROR(rows.read_logged([&](int64_t id, RowVector found, std::span<const float> vector,
                                             const std::string&) -> Status {
    logged.push_back(id);
    if (found != RowVector::kVector) return {};
    const double norm_squared = exact_dot(vector.data(), vector.data(), static_cast<int64_t>(vector.size()));
    if (!(norm_squared > 0)) return {};
    changed->ids.push_back(id);
    changed->vectors.insert(changed->vectors.end(), vector.begin(), vector.end());
    changed->norms_squared.push_back(norm_squared);
    return {};
  }));
  state.changed = changed;
  if (logged.size() > kMostLogged) tell_that_sync_is_due(logged.size());
  state.dims = rows.dims();
  if (state.parts != nullptr) hide_logged(*state.parts, logged, state.hidden);
  std::sort(state.hidden.begin(), state.hidden.end());
  state.hidden.erase(std::unique(state.hidden.begin(), state.hidden.end()), state.hidden.end());
  return state;
}

// Writes one line for each connection.
void IndexStore::tell_that_sync_is_due(size_t logged) {
  if (std::exchange(told_that_sync_is_due_, true)) return;
  connection_.engine().log().write(
      index_.name + ": " + std::to_string(logged) +
      " rows have changed since the last sync, and each query reads them; run INSERT INTO " +
      quoted(index_.name) + "(" + quoted(index_.name) + ") VALUES ('sync')");
}

Status IndexStore::add(std::span<const char> bytes, int64_t rows) {
  SegmentRecord record;
  record.uuid.resize(16);
  sqlite3_randomness(static_cast<int>(record.uuid.size()), record.uuid.data());
  record.rows = rows;
  record.crc = crc32_continue(0, bytes);
  OwnStatement insert, block;
  GLOVE_RETURN_IF_ERROR(
      prepare(insert, "INSERT INTO " + index_.object("_segment") + "(uuid, rows, crc) VALUES (?, ?, ?)"));
  GLOVE_RETURN_IF_ERROR(prepare(block, "INSERT INTO " + index_.object("_block") + " VALUES (?, ?, ?)"));
  {
    OwnStatement::Run run(insert);
    GLOVE_RETURN_IF_ERROR(OwnStatement::finish(run.bind_blob(record.uuid).bind(rows).bind(record.crc)));
  }
  record.id = sqlite3_last_insert_rowid(connection_.db());
  for (size_t first = 0; first < bytes.size(); first += kBlockBytes) {
    OwnStatement::Run run(block);
    run.bind(record.id).bind(static_cast<int64_t>(first / kBlockBytes));
    GLOVE_RETURN_IF_ERROR(OwnStatement::finish(
        run.bind_blob(bytes.subspan(first, std::min(kBlockBytes, bytes.size() - first)))));
  }
  return {};
}

Status IndexStore::remove(int64_t segment) {
  for (const auto& [table, column] :
       {std::pair("_block", "segment"), {"_dead", "segment"}, {"_segment", "id"}}) {
    GLOVE_RETURN_IF_ERROR(
        execute(connection_.db(),
                "DELETE FROM " + index_.object(table) + " WHERE " + column + " = " + std::to_string(segment),
                index_.name));
  }
  return {};
}

Status IndexStore::set_dead(const StoredSegment& segment) {
  OwnStatement write;
  GLOVE_RETURN_IF_ERROR(
      prepare(write, "INSERT OR REPLACE INTO " + index_.object("_dead") + " VALUES (?, ?)"));
  OwnStatement::Run run(write);
  return OwnStatement::finish(run.bind(segment.record.id).bind_blob(segment.dead));
}

Status IndexStore::clear_log() {
  return execute(connection_.db(), "DELETE FROM " + index_.object("_log"), index_.name);
}

Status IndexStore::clear() {
  for (const char* const table : {"_block", "_dead", "_segment"})
    GLOVE_RETURN_IF_ERROR(execute(connection_.db(), "DELETE FROM " + index_.object(table), index_.name));
  return clear_log();
}

Result<std::vector<int64_t>> IndexStore::logged() {
  OwnStatement read;
  GLOVE_RETURN_IF_ERROR(prepare(read, "SELECT id FROM " + index_.object("_log") + " ORDER BY id"));
  OwnStatement::Run run(read);
  std::vector<int64_t> ids;
  while (true) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, run.next());
    if (!more) return ids;
    ids.push_back(run.integer(0));
  }
}

}  // namespace glove::sql
