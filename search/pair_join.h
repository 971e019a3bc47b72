// Joins rows with rows by their scores: all pairs from a score on, the k nearest rows of each row, or the
// nearest pairs of all. Exact, over any backend, which searches for blocks of rows as for a batch of queries.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "search/nearest.h"

namespace glove {

// The rows of one side of a join, whose ids ascend with their positions. One thread at a time.
class JoinSide {
 public:
  virtual ~JoinSide() = default;

  virtual std::string_view name() const = 0;
  virtual RowMetric metric() const = 0;
  virtual int64_t dims() const = 0;  // 0: it has never had a row
  virtual int64_t rows() const = 0;
  virtual int64_t id(int64_t position) const = 0;

  // Returns the vector of a row as a query; nullopt if the row is in no relation.
  virtual Result<MaybeQuery> query(int64_t position) = 0;
  // As nearest() of search/nearest.h, but finds only rows from the position `first` on. Changes the masks of
  // the queries.
  virtual Result<Answers> nearest(std::span<Query> queries, int64_t k, int64_t first,
                                  const SearchOptions& options, SearchReport& report) = 0;
  // An error if the connection has changed the rows since the join began.
  virtual Status check_unchanged() = 0;

  // Whether any threads may call the functions above, at the same time.
  virtual bool is_for_all_threads() const = 0;
};

// Which pairs to find: one of the three is set.
struct JoinTask {
  double least = kNoScore;  // all with at least this score
  int64_t k = -1;           // the k nearest of each row, at least 1
  int64_t pairs = -1;       // so many nearest ones of all
};

// A pair of rows, by their ids.
struct JoinedPair {
  int64_t a;
  int64_t b;
  double score;
  int64_t rank;  // of b among the rows near a, if the task is k; otherwise 0
};

// Memory: that of a block of queries and of a few million pairs, of three blocks where few rows have many
// near ones, or of all pairs if the task is `pairs`. One thread at a time. While the caller reads pairs, up
// to three others find the next ones if the sides are for all threads, the task is not `pairs`, and the
// setting `threads` is not 1.
class PairJoin {
 public:
  // Joins rows with those of `other` or, if that is null, with one another: each pair once, a before b,
  // unless the task is k. No row is paired with itself. `function` begins the messages about progress. What
  // the arguments refer to must outlive the join. REQUIRES: both sides have the same metric and dimensions.
  PairJoin(Engine& engine, const char* function, JoinSide& rows, JoinSide* other, const JoinTask& task,
           std::string backend);
  ~PairJoin();

  // Returns the next pairs, those of a row together and the nearest first, or all by falling scores if the
  // task is `pairs`; none after the last. Valid until the next call. Errors: an interrupt, those of the
  // sides, and kInvalidArgument if the rows have changed.
  Result<std::span<const JoinedPair>> next(const InterruptCheck& interrupted);

  // The positions of the rows that are in no relation. REQUIRES: next() has returned none.
  const std::vector<int64_t>& left_out() const { return left_out_; }

 private:
  struct Asking;
  struct Block;

  bool joins_itself() const { return other_ == nullptr; }
  JoinSide& searched() const { return joins_itself() ? rows_ : *other_; }
  double least() const;
  void begin_blocks();
  void find_beside_caller(Block& block);
  Status finish_finding(Block& block, const InterruptCheck& interrupted);
  Status find(Block& block, const InterruptCheck& interrupted);
  Status read(Block& block, const InterruptCheck& interrupted);
  Status ask(Block& block, const InterruptCheck& interrupted);
  void take(const Asking& asking, std::span<const Neighbor> answer, std::vector<JoinedPair>& found);
  void keep_nearest(const JoinedPair& pair);
  Status sort_nearest(const InterruptCheck& interrupted);

  Engine& engine_;
  JoinSide& rows_;
  JoinSide* const other_;
  const JoinTask task_;
  const std::string backend_;
  const size_t most_blocks_;
  ProgressLog progress_;
  int64_t next_ = 0;                  // the position of the row with which the next block begins
  std::vector<JoinedPair> returned_;  // to the caller
  std::vector<JoinedPair> nearest_;   // of all, if the task is `pairs`: a heap with the last in front
  std::vector<int64_t> left_out_;
  size_t blocks_begun_ = 0;
  size_t blocks_at_once_ = 1;
  std::atomic<bool> stopped_ = false;
  std::deque<std::unique_ptr<Block>> blocks_;  // whose pairs were not all returned
};

}  // namespace glove
