// The commands of a live index: INSERT INTO doc_vec(doc_vec) VALUES ('sync').
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "live/segment.h"
#include "sql/index/content_rows.h"
#include "sql/index/index_lists.h"
#include "sql/index/index_progress.h"
#include "sql/index/index_store.h"
#include "sql/index/own_work.h"
#include "sql/index/vector_store.h"

namespace glove::sql {

class NewSegment;  // sql/index/index_commands.cpp

// Runs commands in the transaction of the statement that gives them. A command that fails leaves nothing
// behind.
class IndexCommands : IndexPart {
 public:
  // All arguments must outlive the object.
  IndexCommands(Connection& connection, const IndexDefinition& index, IndexStore& store, ContentRows& rows,
                VectorStore& vectors)
      : IndexPart(connection, index), store_(store), rows_(rows), vectors_(vectors) {}

  // Makes the tables and triggers of a new index, and a segment of the rows that the content has. If it
  // fails, SQLite undoes CREATE VIRTUAL TABLE as a whole.
  Status create();

  // sync              turns the log into a segment, and joins segments by the rule of live/merge_rule.h
  // sync=N            the same for the first N logged rows
  // merge             the same, and joins all segments
  // rebuild           makes the triggers and all segments again
  // repair            makes the triggers again, and segments of those rows that differ from what is stored
  // integrity-check   is an error unless the index agrees with the content
  //
  // Passes the command in a statement of its own to the index, which must hand it on to run_if_passed(): its
  // own object, or a new one if SQLite has read the schema again.
  Status run(std::string_view command);

  // Runs the command that `value` passes, and returns how it ended. Returns nothing if `value` passes none.
  std::optional<Status> run_if_passed(sqlite3_value* value);

  // Reads all segments and stored vectors from the database and every row of the content, and returns what is
  // wrong with the index, or nothing. Rows that the content lost without a log entry are not wrong: REPLACE
  // deletes rows without firing triggers.
  Result<std::string> problem();

 private:
  // A command on its way through the statement that SQLite undoes as a whole.
  struct Passed {
    std::string_view command;
    std::optional<Status> status;  // none until it has run
  };
  static constexpr const char* kPassed = "glove_index command";

  Status check_is_free();
  Status work(std::string_view command);
  // `most`: logged rows that become a segment.
  Status sync(bool join_all, int64_t most);
  Status rebuild(bool is_new = false);
  Result<bool> must_wait();
  Status repair();
  Status log_differences();
  Result<std::vector<StoredSegment>> checked_segments(const IndexConfig& config);
  Status move_log(std::vector<StoredSegment>& segments, int64_t logged, int64_t last_logged);
  template <class Body>
  auto reported(const char* doing, Body&& body) -> decltype(body());
  std::vector<size_t> joined_segments(const std::vector<StoredSegment>& segments, bool join_all,
                                      bool lists_are_due) const;
  Status write_segments(std::vector<StoredSegment>& segments, const std::vector<size_t>& joined,
                        IndexLists& lists, int64_t last_logged);
  Status check_lengths(const std::vector<StoredSegment>& segments, const live::SegmentPtr& made,
                       const IndexLists& lists);
  Result<bool> has_missing(const std::vector<StoredSegment>& segments);
  Status kill_missing(StoredSegment& stored);
  Status join(std::vector<StoredSegment>& segments, const std::vector<size_t>& joined, NewSegment& whole);

  IndexStore& store_;
  ContentRows& rows_;
  VectorStore& vectors_;
  IndexProgress* progress_ = nullptr;  // of the command that runs
};

}  // namespace glove::sql
