// The rows of one xFilter, one after another, in the order that the planner promised.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/answer_cache.h"
#include "search/engine.h"
#include "sql/glove_nn_inputs.h"

namespace glove::sql::nn {

struct Row {
  Neighbor neighbor{};
  int64_t rank = 0;  // 0: not known
};

// Some rows of one query's relation, best first.
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Moves to the next row and writes it; false past the end.
  virtual Result<bool> next(Row& row) = 0;
};

// Carries a Request out with as little work as it allows. One thread at a time.
class Search {
 public:
  // `cache` may be null; it outlives the search.
  Search(Request request, SearchOptions options, AnswerCache* cache);

  // Moves to the first, then to the next row; false past the last one.
  Result<bool> next();

  // Of the current row. REQUIRES: the last next() gave true.
  const Neighbor& neighbor() const { return row_.neighbor; }
  Result<int64_t> rank();

  // The inputs of the current row: in a batch, with its value in place.
  const Inputs& inputs() const { return request_.inputs; }
  const Model& model() const { return *request_.model; }

 private:
  // How the rows of each query are found.
  enum class Strategy {
    kNothing,  // there are none
    kWords,    // score only the words asked for
    kListed,   // the first rows at once, of many queries together
    kRanked,   // in growing pieces
  };
  Strategy choose_strategy() const;

  Result<bool> open_next_source();
  Result<std::unique_ptr<RowSource>> open_source();
  Result<AnswerCache::Answer> answer_of_query();
  Result<AnswerCache::Answer> answer_of_block();
  Status fill_block();
  int64_t block_size() const;
  int64_t limit() const;
  std::string kind() const;                                        // of a single query, for glove_stats
  SearchReport labels(std::string kind, double resolve_us) const;  // what the engine does not know
  enum class Verdict { kTake, kSkip, kEnd };
  Verdict judge() const;

  Request request_;
  SearchOptions options_;
  AnswerCache* cache_;
  Strategy strategy_;
  size_t next_query_ = 0;   // of the batch; or 0 and 1 for the only one
  size_t block_start_ = 0;  // block_[i] answers batch value block_start_ + i
  std::vector<AnswerCache::Answer> block_;
  std::optional<Query> query_;         // of the current source, where one was needed
  std::unique_ptr<RowSource> source_;  // null: the next query is due
  size_t words_left_ = 0;              // of Bounds::ids, in the current source
  Row row_;
};

}  // namespace glove::sql::nn
