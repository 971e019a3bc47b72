// Returns the rows of one xFilter call, one at a time, in the order that the planner promised.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/engine.h"
#include "search/ranking.h"
#include "sql/adapter/connection.h"
#include "sql/nn/answer_cache.h"
#include "sql/nn/glove_nn_inputs.h"
#include "sql/nn/rank_cache.h"

namespace glove::sql::nn {

struct Row {
  Neighbor neighbor{};
  int64_t rank = 0;  // 0: not known
};

class RankedRows;

// The caches that the scans of a connection share.
struct Caches {
  explicit Caches(Engine& engine) : answers(engine), ranks(engine) {}
  AnswerCache answers;
  RankCache ranks;
};

// The state that the scans of a connection share. All of it must outlive them.
struct TableContext {
  Engine* engine;
  Connection::Pin* models;
  Caches* caches;        // nullptr: caching is disabled
  bool* hinted_at_expr;  // set when the hint about `expr` has been logged for the statement
};

// Executes one setting of a FilterCall with as little work as possible. Used by one thread at a time.
class NeighborScan {
 public:
  // Finds the model. `call` and what `context` points to must outlive the scan. `options.backend` applies
  // if the setting names no backend. REQUIRES: call.query_count() > 0.
  static Result<NeighborScan> open(const TableContext& context, const FilterCall& call, size_t setting,
                                   SearchOptions options);

  ~NeighborScan();
  NeighborScan(NeighborScan&&) noexcept;
  NeighborScan& operator=(NeighborScan&&) noexcept;

  // Moves to the first row and then to the next one. Returns false after the last row.
  Result<bool> next();

  // Moves to the next row if it has already been computed, without work that can fail. If this returns false,
  // there may still be rows: call next().
  bool next_buffered() noexcept;

  // The current row. REQUIRES: the last call of next() or next_buffered() returned true.
  const Neighbor& neighbor() const { return row_.neighbor; }
  Result<int64_t> rank();
  // Returns the rank if it is known already, otherwise 0.
  int64_t known_rank() const { return row_.rank; }

  // Returns how many queries the scan has begun. It changes when the inputs do.
  size_t query_count() const { return next_query_; }

  // Returns the inputs of the current row, with the values of its query if there is a batch.
  const Inputs& inputs() const { return inputs_; }
  const Model& model() const { return *entry_.model; }
  // As Model::health().
  Status health() const { return model().health(options_.interrupted); }

 private:
  // How the rows of each query are found.
  enum class Strategy {
    kNothing,  // there are none
    kWords,    // score only the requested words
    kListed,   // compute all rows at once, for many queries together
    kRanked,   // compute rows on demand, in growing pieces
  };
  // Queries that were searched together: answers[i] is that of query first_query + i of the call.
  struct Block {
    size_t first_query = 0;
    std::vector<AnswerCache::Answer> answers;
  };
  NeighborScan(const TableContext& context, const FilterCall& call, Inputs inputs, CatalogEntry entry,
               SearchOptions options);
  void look_words_up();
  Strategy choose_strategy() const;

  Result<bool> open_next_query();
  Status open_query();
  Status score_neighbors(double resolve_us);
  Result<RankCache::Ranks> find_ranks();
  Result<MaybeQuery> resolve(const Inputs& inputs);
  Result<std::vector<Result<MaybeQuery>>> resolve_block() const;
  void hint_at_expr(const Inputs& inputs);
  void set_piece(std::span<const Neighbor> piece, bool last);
  [[gnu::always_inline]] void prefetch_places(std::span<const Neighbor> rows, size_t begin, size_t end) const;
  [[gnu::always_inline]] void prefetch_bytes(std::span<const Neighbor> rows, size_t begin, size_t end) const;
  Result<AnswerCache::Answer> answer_of_query();
  Result<AnswerCache::Answer> answer_of_block();
  Status fill_block();
  int64_t block_size() const;
  int64_t limit() const;
  std::string kind_of(const Query& query) const;                   // of a single query, for glove_stats
  SearchReport labels(std::string kind, double resolve_us) const;  // what nearest() does not know
  enum class Verdict { kTake, kSkip, kEnd };
  Verdict judge() const;
  Statistics& statistics() const { return entry_.searchers->engine().statistics(); }

  const FilterCall* call_;
  Inputs inputs_;
  CatalogEntry entry_;
  SearchOptions options_;
  TableContext context_;
  RowRange range_;                           // the call's, and k
  std::optional<std::vector<int32_t>> ids_;  // of the call's words, ascending
  Strategy strategy_ = Strategy::kNothing;
  int64_t row_hint_;       // rows that a first piece should have, or 0
  size_t next_query_ = 0;  // of the call
  Block block_;

  // The current query, best row first.
  std::optional<Query> query_;          // where one was needed
  RankCache::Ranks ranks_;              // of its rows, where they are kept
  AnswerCache::Answer answer_;          // kWords, kListed: all rows
  std::unique_ptr<RankedRows> ranked_;  // kRanked: returns them in pieces
  std::span<const Neighbor> piece_;     // of either: the next computed rows
  bool last_piece_ = true;
  int64_t next_rank_ = 0;  // of piece_.front(); 0: not known
  size_t words_left_ = 0;  // of ids_
  Row row_;
};

}  // namespace glove::sql::nn
