#include "sql/index/index_store.h"

#include <algorithm>
#include <utility>

#include "base/float_environment.h"
#include "base/require.h"
#include "model/limits.h"
#include "sql/adapter/boundary.h"
#include "sql/index/index_triggers.h"

namespace glove::sql {
namespace {

// The version of what the tables contain. An index of texts stores their vectors from version 2 on. An index
// in lists has version 3. Version 4 was one of lists with sign planes (live::PlaneKind::kSigned).
int64_t format_version(const IndexDefinition& index) {
  return index.is_text ? 2 : 1;
}
constexpr int64_t kVersionOfLists = 3;
constexpr int64_t kFormerVersionOfSigns = 4;

constexpr int64_t kNoneLogged = -1;  // in place of SeenState::changes

// Whether a statement of the connection that writes is running.
bool writes(sqlite3* db) {
  for (sqlite3_stmt* at = sqlite3_next_stmt(db, nullptr); at != nullptr; at = sqlite3_next_stmt(db, at))
    if (sqlite3_stmt_busy(at) != 0 && sqlite3_stmt_readonly(at) == 0) return true;
  return false;
}

}  // namespace

Result<int64_t> IndexStore::schema_version() {
  GLOVE_RETURN_IF_ERROR(prepare(schema_version_, "PRAGMA " + quoted_name(index_.schema) + ".schema_version"));
  return OwnStatement::Run(schema_version_).next_integer();
}

bool IndexStore::forget_other_file() {
  if (!index_.is_attached || !schema_version_.was_prepared_again()) return false;
  committed_.reset();
  uncommitted_.reset();
  return true;
}

Result<IndexConfig> IndexStore::config() {
  GLOVE_RETURN_IF_ERROR(prepare(config_, "SELECT key, value FROM " + index_.object("_config")));
  OwnStatement::Run run(config_);
  IndexConfig config;
  int64_t version = 0;
  GLOVE_RETURN_IF_ERROR(run.for_each([&] {
    if (run.text(0) == "dims") config.dims = run.integer(1);
    if (run.text(0) == "version") version = run.integer(1);
    if (run.text(0) == "log") config.log = run.integer(1);
    if (run.text(0) == "fingerprint") config.fingerprint = run.text(1);
    if (run.text(0) == "model") config.model = run.text(1);
    if (run.text(0) == "recall" && run.integer(1) >= 0) config.recall = static_cast<uint32_t>(run.integer(1));
    if (run.text(0) == "lists") config.lists = std::clamp(run.integer(1), kUselessLists, live::kMostLists);
  }));
  const int64_t expected = format_version(index_);
  const bool may_have_lists = version == kVersionOfLists || version == kFormerVersionOfSigns;
  if (!may_have_lists && config.lists) config.lists = std::min(*config.lists, int64_t{0});
  if (version != expected && !may_have_lists)
    return make_error(
        ErrorCode::kCorrupt, index_.name, " has the format version ", version, ", but this extension reads ",
        version < expected ? "version " + std::to_string(expected)
                           : "no later one than " + std::to_string(kFormerVersionOfSigns),
        "; ",
        version < expected ? "run " + index_.command("rebuild") + ", which makes the index again"
                           : "use the newer extension that wrote it, or drop the index and "
                             "create it again");
  if (config.dims < 0 || config.dims > kMaxDims)
    return damaged_index(index_, "it has ", config.dims, " dimensions");
  return config;
}

Status IndexStore::set_config(const IndexConfig& config) {
  OwnQuery write = query("INSERT OR REPLACE INTO " + index_.object("_config") +
                             " VALUES ('version', ?), ('dims', ?), ('fingerprint', ?)",
                         config.lists.value_or(0) <= 0 ? format_version(index_) : kVersionOfLists,
                         config.dims, config.fingerprint);
  GLOVE_RETURN_IF_ERROR(write.finish());
  const auto set = [this](const char* key, const auto& value) {
    return query("INSERT OR REPLACE INTO " + index_.object("_config") + " VALUES ('" + key + "', ?)", value)
        .finish();
  };
  if (config.lists) {
    GLOVE_RETURN_IF_ERROR(set("lists", *config.lists));
    GLOVE_RETURN_IF_ERROR(set("recall", config.recall ? int64_t{*config.recall} : int64_t{-1}));
  }
  if (index_.is_text && !index_.has_metric && index_.metric != RowMetric::kCosine)
    GLOVE_RETURN_IF_ERROR(set("metric", metric_name(index_.metric)));
  if (index_.is_attached) GLOVE_RETURN_IF_ERROR(set(kStoredArguments, index_.arguments()));
  return config.model.empty() ? Status() : set("model", config.model);
}

Result<std::string> IndexStore::stored_model() {
  return query("SELECT value FROM " + index_.object("_config") + " WHERE key = 'model'").next_text();
}

Result<std::vector<StoredSegment>> IndexStore::loaded_segments(int64_t dims) {
  GLOVE_ASSIGN_OR_RETURN(auto stored, segments_.list(dims));
  for (StoredSegment& segment : stored) GLOVE_RETURN_IF_ERROR(segments_.load(segment, dims));
  return stored;
}

bool is_calibrated(const IndexConfig& config, const std::vector<StoredSegment>& segments) {
  const auto in_lists = [](const StoredSegment& stored) { return stored.record.in_lists(); };
  return config.recall && std::any_of(segments.begin(), segments.end(), in_lists);
}

live::PartSetPtr IndexStore::parts_of(const std::vector<live::SegmentPtr>& segments,
                                      const live::IndexRecallPtr& recall) {
  if (parts_ != nullptr && parts_->segments() == segments && parts_->recall() == recall) {
    former_parts_.reset();
  } else {
    former_parts_ = std::move(parts_);
    parts_ = segments.empty() ? nullptr : live::share_part_set(connection_.engine(), segments, recall);
  }
  return parts_;
}

Result<live::PartSetPtr> IndexStore::searched_parts() {
  GLOVE_ASSIGN_OR_RETURN(const IndexConfig stored_config, config());
  GLOVE_ASSIGN_OR_RETURN(auto stored, segments_.list(stored_config.dims));
  std::vector<live::SegmentPtr> parts;
  for (StoredSegment& one : stored) {
    segments_.find_searched(one, stored_config.dims);
    if (one.segment == nullptr) return live::PartSetPtr();
    parts.push_back(one.segment);
  }
  if (parts.empty()) return live::PartSetPtr();
  // A statement that has begun before may still search the same segments with a former calibration.
  live::IndexRecallPtr recall;
  if (is_calibrated(stored_config, stored))
    recall = segments_.find_recall(stored_config.dims, *stored_config.recall);
  return live::find_part_set(connection_.engine(), parts, recall);
}

// Writes one line for each connection.
void IndexStore::tell_that_sync_is_due(size_t logged) {
  if (std::exchange(told_that_sync_is_due_, true)) return;
  connection_.engine().log().write(
      index_.name + ": " + std::to_string(logged) +
      " rows have changed since the last sync, and each connection reads them once; run " +
      index_.command("sync"));
}

Status IndexStore::clear_log(int64_t last) {
  int64_t number = 0;
  sqlite3_randomness(sizeof(number), &number);
  const bool is_all = last == std::numeric_limits<int64_t>::max();
  GLOVE_RETURN_IF_ERROR(execute("DELETE FROM " + index_.object("_log") +
                                (is_all ? "" : " WHERE id <= " + std::to_string(last))));
  return query("INSERT OR REPLACE INTO " + index_.object("_config") + " VALUES ('log', ?)", number).finish();
}

Status IndexStore::log(std::span<const int64_t> ids) {
  OwnStatement insert;
  GLOVE_RETURN_IF_ERROR(
      prepare(insert, "INSERT INTO " + index_.object("_log") + "(id) VALUES (?)" + kCounts));
  for (const int64_t id : ids) GLOVE_RETURN_IF_ERROR(OwnStatement::Run(insert).bind(id).finish());
  return {};
}

Status IndexStore::clear() {
  GLOVE_RETURN_IF_ERROR(segments_.clear());
  return clear_log();
}

Result<int64_t> IndexStore::count_logged() {
  return query("SELECT count(*) FROM " + index_.object("_log")).next_integer();
}

Status IndexStore::log_all(const std::string& ids) {
  return execute("INSERT INTO " + index_.object("_log") + "(id) " + ids);
}

Result<int64_t> IndexStore::last_logged(int64_t count) {
  OwnQuery last =
      query("SELECT id FROM " + index_.object("_log") + " ORDER BY id LIMIT 1 OFFSET ?", count - 1);
  GLOVE_ASSIGN_OR_RETURN(const bool found, last.next());
  return found ? last.integer(0) : std::numeric_limits<int64_t>::max();
}

Result<std::vector<int64_t>> IndexStore::logged() {
  return query("SELECT id FROM " + index_.object("_log") + " ORDER BY id").integers();
}

// In a transaction that has written, only statements of the same connection change the rows, and none does
// while a statement reads. One that writes may change them after each row. The triggers then log the row,
// unless the log has it already, so the log must be empty.
std::optional<SeenState> IndexStore::seen(int64_t statement) {
  SeenState seen;
  if (const std::optional<uint32_t> version = committed_version()) {
    seen.version = *version;
    return seen;
  }
  if (transaction_state() != SQLITE_TXN_WRITE || !read_version(seen.version)) return std::nullopt;
  seen.statement = statement;
  seen.changes = writes(db()) ? kNoneLogged : sqlite3_total_changes(db());
  if (seen.changes == kNoneLogged && !log_is_empty()) return std::nullopt;
  return seen;
}

bool IndexStore::sees_still(const SeenState& seen, int64_t statement) {
  uint32_t version = 0;
  if (!read_version(version) || version != seen.version) return false;
  const int transaction = transaction_state();
  if (seen.statement == 0) return transaction == SQLITE_TXN_READ;
  if (seen.statement != statement || transaction != SQLITE_TXN_WRITE) return false;
  return seen.changes == kNoneLogged ? log_is_empty() : seen.changes == sqlite3_total_changes(db());
}

// -1 if SQLite does not tell it.
int IndexStore::transaction_state() const {
  return sqlite_has(kSqliteTxnState) ? sqlite3_txn_state(db(), index_.schema.c_str()) : -1;
}

bool IndexStore::read_version(uint32_t& version) const {
  return sqlite3_file_control(db(), index_.schema.c_str(), SQLITE_FCNTL_DATA_VERSION, &version) == SQLITE_OK;
}

// Returns false if that cannot be determined.
bool IndexStore::log_is_empty() {
  if (!prepare(any_logged_, "SELECT 1 FROM " + index_.object("_log") + " LIMIT 1").ok()) return false;
  OwnStatement::Run run(any_logged_);
  const Result<bool> found = run.next();
  return found.ok() && !found.value();
}

Status KnownTexts::read(const std::string& fingerprint) {
  const Status read = read_places(fingerprint);
  if (read.ok()) return {};
  segments_.clear();
  places_.clear();
  return read.error().code == ErrorCode::kInterrupted ? read : Status();
}

Status KnownTexts::read_places(const std::string& fingerprint) {
  GLOVE_ASSIGN_OR_RETURN(const IndexConfig config, store_.config());
  if (config.fingerprint != fingerprint || config.dims == 0) return {};
  dims_ = config.dims;
  GLOVE_ASSIGN_OR_RETURN(segments_, store_.loaded_segments(dims_));
  for (const StoredSegment& stored : segments_) append_living(stored, places_);
  std::ranges::sort(places_, {}, &LivingRow::id);
  return {};
}

Result<std::span<const float>> KnownTexts::find(int64_t id, const Digest128& digest) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  constexpr std::span<const float> kUnknown;
  const auto place = std::ranges::lower_bound(places_, id, {}, &LivingRow::id);
  if (place == places_.end() || place->id != id) return kUnknown;
  const StoredSegment& stored = *place->stored;
  StoredTextReader& reader = readers_.try_emplace(stored.record.id, vectors_, dims_).first->second;
  GLOVE_ASSIGN_OR_RETURN(const auto known, reader.digests.read(stored.record.id, place->row));
  if (known.empty() || digest_of(known) != digest) return kUnknown;
  GLOVE_ASSIGN_OR_RETURN(const auto vector, reader.vectors.read(stored.record.id, place->row));
  return stored.segment->has_codes_of(place->row, vector) ? vector : kUnknown;
}

}  // namespace glove::sql
