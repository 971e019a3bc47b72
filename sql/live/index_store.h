// Reads and writes the shadow tables of a live index.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "live/live_search.h"
#include "live/segment.h"
#include "sql/connection.h"
#include "sql/live/content_rows.h"
#include "sql/live/index_definition.h"
#include "sql/live/own_statement.h"

namespace glove::sql {

// A row of NAME_segment.
struct SegmentRecord {
  int64_t id = 0;
  std::string uuid;
  int64_t rows = 0;
  int64_t crc = 0;

  // Names the content of the segment for the whole process (live/segment_cache.h).
  std::string key() const { return uuid + std::to_string(crc) + ":" + std::to_string(rows); }
};

// A segment with the rows that are no longer part of the index.
struct StoredSegment {
  SegmentRecord record;
  live::SegmentPtr segment;
  std::string dead;  // bit r % 8 of byte r / 8; empty: no row is dead

  bool is_dead(int64_t row) const {
    const auto place = static_cast<size_t>(row);
    return !dead.empty() && (static_cast<unsigned char>(dead[place / 8]) >> (place % 8) & 1) != 0;
  }
  void kill(int64_t row);
  int64_t dead_rows() const;
};

// What NAME_config says.
struct IndexConfig {
  int64_t dims = 0;         // 0: not known yet
  std::string fingerprint;  // of the model that made the vectors; empty unless the index is of texts
};

// Belongs to the table object of one connection, which outlives it, like `index`.
class IndexStore {
 public:
  IndexStore(Connection& connection, const IndexDefinition& index) : connection_(connection), index_(index) {}

  // Returns PRAGMA schema_version of the index's schema.
  Result<int64_t> schema_version();

  Result<IndexConfig> config();
  Status set_config(const IndexConfig& config);

  // Returns the segments, by ascending id. Reads their bytes unless the process has them.
  Result<std::vector<StoredSegment>> segments(int64_t dims);

  // The same for a statement that searches: the segments and the log, with the vectors of the logged rows.
  // Begins the use of `rows`. Reads nothing if the last state was that of the same committed version of the
  // database.
  Result<live::IndexState> state(ContentRows& rows);

  // Returns the segments as a statement of this process searches them, or null if none does.
  Result<live::PartSetPtr> searched_parts();

  // Writes a new segment.
  Status add(std::span<const char> bytes, int64_t rows);
  Status remove(int64_t segment);
  // Writes which rows of the segment are dead.
  Status set_dead(const StoredSegment& segment);
  Status clear_log();
  // Removes all segments and the log.
  Status clear();
  // Returns the ids of the log, ascending.
  Result<std::vector<int64_t>> logged();

  // Reads the bytes of a segment from the database and checks them.
  Result<live::SegmentPtr> read_segment(const SegmentRecord& record, int64_t dims);

 private:
  Status prepare(OwnStatement& statement, const std::string& sql);
  Result<std::vector<SegmentRecord>> records();
  Status read_dead(std::vector<StoredSegment>& segments);
  std::optional<uint32_t> committed_version();
  Result<live::IndexState> read_state(const IndexConfig& config, ContentRows& rows);
  live::PartSetPtr parts_of(const std::vector<StoredSegment>& segments);
  Error damaged(const std::string& what) const;
  void tell_that_sync_is_due(size_t logged);

  Connection& connection_;
  const IndexDefinition& index_;
  OwnStatement schema_version_, config_, segments_, dead_;
  bool told_that_sync_is_due_ = false;
  live::PartSetPtr parts_;  // of the last statement that searched
  // The different ones before them, until they have been searched: a device that has these adds to them only
  // the new segments.
  live::PartSetPtr former_parts_;

  // What a version of the database has.
  struct CommittedState {
    uint32_t version;
    IndexConfig config;
    live::IndexState state;
  };
  std::optional<CommittedState> committed_;
};

}  // namespace glove::sql
