// Reads and writes what a live index stores.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "live/blake2b.h"
#include "live/live_search.h"
#include "sql/index/content_rows.h"
#include "sql/index/own_work.h"
#include "sql/index/segment_store.h"
#include "sql/index/vector_store.h"

namespace glove::sql {

constexpr int64_t kUselessLists = -1;

// Whether an index of this state has a calibration of its lists.
bool is_calibrated(const IndexConfig& config, const std::vector<StoredSegment>& segments);

// More logged rows than this make first queries slow enough to tell that a 'sync' is due.
constexpr int64_t kMostLogged = 10'000;

// Returns the ids of the rows of a state, or those of `wanted` (ascending) that it has, ascending. The user's
// table may have lost some of them without a trace.
std::vector<int64_t> all_ids(const live::IndexState& state);
std::vector<int64_t> ids_among(const live::IndexState& state, std::span<const int64_t> wanted);

// Identifies what a statement sees of an index and of its content: while two are equal, that is the same.
struct SeenState {
  uint32_t version = 0;  // SQLITE_FCNTL_DATA_VERSION, which changes with every commit to the database file
  // In a transaction that has written: the number of the statement, and how many rows the connection had
  // changed, or -1 in a statement that itself writes, while the log is empty. Otherwise 0.
  int64_t statement = 0;
  int64_t changes = 0;
  bool operator==(const SeenState&) const = default;
};

// Belongs to the table object of one connection, which outlives it, like `index`.
class IndexStore : IndexPart {
 public:
  IndexStore(Connection& connection, const IndexDefinition& index)
      : IndexPart(connection, index), segments_(connection, index) {}

  // Returns PRAGMA schema_version of the index's schema.
  Result<int64_t> schema_version();
  // Whether another file may have the name of the index's schema since the last call, by DETACH and ATTACH.
  // Then nothing is kept that was read before. REQUIRES: schema_version() was called.
  bool forget_other_file();

  Result<IndexConfig> config();
  Status set_config(const IndexConfig& config);
  // Returns what config().model would be, whatever version the tables have.
  Result<std::string> stored_model();

  SegmentStore& segments() { return segments_; }
  // Returns the segments, by ascending id, all of them loaded.
  Result<std::vector<StoredSegment>> loaded_segments(int64_t dims);

  // Tells whether every change of a logged row leaves a trace in the log (counts_changes()). To be called
  // after each change of the schema.
  void set_counts(bool counts) { counts_ = counts; }

  // Returns what a statement searches: the segments and the log, with the vectors of the logged rows or
  // segments of them. Begins the use of `rows`. Reads no table of the index if the last state was that of the
  // same committed version of the database or, in a transaction that has written, that of the same statement,
  // and only what was logged since if it was one of the same log. If a logged row cannot be read, the state
  // has only those logged rows that have a key of `among`; it is an error if there is no such set, or one of
  // these cannot be read either. `sees` is what seen() returns for the statement.
  Result<live::IndexState> state(ContentRows& rows, const KeySet* among,
                                 const std::optional<SeenState>& sees);

  // How many rows of the segments searches of this connection have found to be gone from the user's table,
  // since the last command.
  int64_t gone() const { return committed_ ? committed_->gone : 0; }

  // Returns the segments as a statement of this process searches them, or null if none does.
  Result<live::PartSetPtr> searched_parts();

  // Returns what identifies what the running statement sees; nullopt if nothing does. `statement` is its
  // number, which is not 0, and another one after each command.
  std::optional<SeenState> seen(int64_t statement);
  // Whether that would be returned for a cursor that has been in use since it was returned.
  bool sees_still(const SeenState& seen, int64_t statement);
  // The same in a transaction that only reads. In one that writes, ROLLBACK TO may change rows without a
  // trace.
  bool still_reads(const SeenState& seen) { return seen.statement == 0 && sees_still(seen, 0); }

  // Removes the ids up to this one from the log.
  Status clear_log(int64_t last = std::numeric_limits<int64_t>::max());
  // Logs all rows that `ids`, a SELECT, returns.
  Status log_all(const std::string& ids);
  // Logs rows, as triggers that count do.
  Status log(std::span<const int64_t> ids);
  // Removes all segments and the log.
  Status clear();
  // Returns the ids of the log, ascending.
  Result<std::vector<int64_t>> logged();
  // Returns how many there are.
  Result<int64_t> count_logged();
  // Returns the last of the first `count` ids; if there are no more, the greatest int64_t.
  Result<int64_t> last_logged(int64_t count);

 private:
  std::optional<uint32_t> committed_version();
  // A key of the log.
  struct LogEntry {
    int64_t place;  // the rowid
    int64_t id;
    int64_t again;  // grows whenever it is logged again; at least -1
  };
  // What a version of the database has.
  struct CommittedState {
    uint32_t version;
    int64_t schema_version;
    IndexConfig config;
    size_t stored;  // how many of the segments are not of the log
    std::vector<LogEntry> log;
    live::IndexState state;
    int64_t gone = 0;  // hidden rows of these segments that the user's table lacked
  };
  struct LogChanges {
    std::vector<LogEntry> entries;  // by ascending places
    int64_t count = 0;              // how often keys were logged
  };
  struct Reading {
    ContentRows& rows;
    const KeySet* among;
    std::optional<uint32_t> version;  // null: what is read is not kept
    std::string key = {};             // by which connections share a segment of all logged rows; else empty
  };

  Result<std::optional<LogChanges>> changes_since(std::span<const LogEntry> log);
  Result<CommittedState> stored_state(const IndexConfig& config, ContentRows& rows);
  Result<live::IndexState> read_state(const IndexConfig& config, Reading reading);
  Status add_changed(CommittedState& to, std::vector<int64_t> ids, const Reading& reading);
  Result<std::optional<live::SegmentPtr>> encode(std::span<const int64_t> ids, const Reading& reading);
  live::IndexState remembering(const CommittedState& committed);
  live::PartSetPtr parts_of(const std::vector<live::SegmentPtr>& segments,
                            const live::IndexRecallPtr& recall);
  void tell_that_sync_is_due(size_t logged);
  bool log_is_empty();
  int transaction_state() const;
  bool read_version(uint32_t& version) const;

  SegmentStore segments_;
  OwnStatement schema_version_, config_, any_logged_, log_, counting_log_;
  bool counts_ = false;
  bool told_that_sync_is_due_ = false;
  live::PartSetPtr parts_;  // of the last statement that searched
  // The different ones before them, until they have been searched: a device that has these adds to them only
  // the new segments.
  live::PartSetPtr former_parts_;

  std::optional<CommittedState> committed_;
  struct UncommittedState {
    SeenState seen;
    IndexConfig config;
    live::IndexState state;
  };
  std::optional<UncommittedState> uncommitted_;  // what the last statement saw, if it saw no commit
};

// The vectors that an index of texts has already, so that commands encode only texts that have changed.
// Must not outlive the command. The arguments of the constructor must outlive it.
class KnownTexts {
 public:
  KnownTexts(IndexStore& store, VectorStore& vectors) : store_(store), vectors_(vectors) {}

  // Finds out which rows are known, if `fingerprint` is that of the model that made their vectors. Of an
  // index that is damaged, or that an earlier version made, none are. An error only if it was interrupted.
  Status read(const std::string& fingerprint);

  // Returns the vector of a row; an empty one unless it is that of a text with this digest. Fast if rows are
  // asked for by ascending id. Valid until the next call. REQUIRES: the float environment.
  Result<std::span<const float>> find(int64_t id, const Digest128& digest);

 private:
  Status read_places(const std::string& fingerprint);

  IndexStore& store_;
  VectorStore& vectors_;
  int64_t dims_ = 0;
  std::vector<StoredSegment> segments_;
  std::vector<LivingRow> places_;  // by id
  std::map<int64_t, StoredTextReader> readers_;
};

}  // namespace glove::sql
