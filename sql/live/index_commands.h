// The commands of a live index: INSERT INTO doc_vec(doc_vec) VALUES ('sync').
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sql/connection.h"
#include "sql/live/content_rows.h"
#include "sql/live/index_definition.h"
#include "sql/live/index_store.h"
#include "sql/live/new_segment.h"
#include "sql/live/vector_store.h"

namespace glove::sql {

// Runs commands in the transaction of the statement that gives them. Whatever can be wrong is found before
// the first write, except while the vectors of
// texts are written, which are then removed.
class IndexCommands {
 public:
  // All arguments must outlive the object.
  IndexCommands(Connection& connection, const IndexDefinition& index, IndexStore& store, ContentRows& rows,
                VectorStore& vectors)
      : connection_(connection), index_(index), store_(store), rows_(rows), vectors_(vectors) {}

  // Makes the tables and triggers of a new index, and a segment of the rows that the content has.
  Status create();

  // sync              turns the log into a segment, and joins segments by the rule of live/merge_rule.h
  // merge             the same, and joins all segments
  // rebuild           makes the triggers and all segments again
  // integrity-check   is an error unless the index agrees with the content
  Status run(std::string_view command);

  // Returns what is wrong with the index, or nothing.
  Result<std::string> problem();

 private:
  Status sync(bool join_all);
  Status rebuild();
  Status undone_if_it_fails(Status status);
  Status move_log(std::vector<StoredSegment>& segments, int64_t logged);
  Status write_segments(std::vector<StoredSegment>& segments, const std::vector<size_t>& joined);
  Status kill_missing(StoredSegment& stored);
  Status join(std::vector<StoredSegment>& segments, const std::vector<size_t>& joined, NewSegment& whole);

  Connection& connection_;
  const IndexDefinition& index_;
  IndexStore& store_;
  ContentRows& rows_;
  VectorStore& vectors_;
  std::vector<int64_t> new_ids_;  // of the segments that the running command makes
};

}  // namespace glove::sql
