// Returns the rows of one xFilter call of a table that ranks rows, one at a time, in the order that the
// planner promised.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/require.h"
#include "search/engine.h"
#include "search/ranking.h"
#include "sql/nn/answer_cache.h"
#include "sql/nn/glove_nn_inputs.h"
#include "sql/nn/rank_cache.h"

namespace glove::sql::nn {

// The caches that the scans of a connection share.
struct Caches {
  explicit Caches(Engine& engine) : answers(engine), ranks(engine) {}
  AnswerCache answers;
  RankCache ranks;
};

// Which hints about words that are not there have been thought about for the running statement.
struct Hints {
  bool at_expr = false;  // the word reads as an expression: logged
  bool at_word = false;  // the word may be misspelt: looked for
};

// What a scan ranks: the words of a model, or the rows of a live index. What it refers to must outlive it.
struct RankedSource {
  std::string name;  // for glove_stats
  std::unique_ptr<RankedRelation> relation;
  // Returns the query of the inputs; nullopt if it has no rows. If there are words, any thread may call it.
  std::function<Result<MaybeQuery>(const Inputs& inputs, const InterruptCheck& interrupted)> resolve;
  // The model whose words the rows are; null if the ids are keys of the user's table.
  ModelSearchersPtr words;
  RowMetric metric = RowMetric::kCosine;
  Caches* caches = nullptr;  // of a model; nullptr: caching is disabled
  Hints* hints = nullptr;
  RankCache* ranks = nullptr;  // of an index, as the running statement sees it; nullptr: none are kept
  int64_t rows = 0;            // of an index: about how many it has
  std::function<bool()> is_current = [] { return true; };  // whether the statement still sees the same rows
};

// Executes one setting of a FilterCall with as little work as possible. Used by one thread at a time.
class RankedScan {
 public:
  // `inputs` are those of the setting. The engine, the source and the call must outlive the scan.
  // `options.backend` applies if the setting names no backend. REQUIRES: call.query_count() > 0.
  RankedScan(Engine& engine, const RankedSource& source, const FilterCall& call, Inputs inputs,
             SearchOptions options);
  ~RankedScan() { end_ranking(); }
  RankedScan(const RankedScan&) = delete;
  RankedScan& operator=(const RankedScan&) = delete;

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

  // Begins anew with the call, which has changed since, where kept ranks answer it. Returns false if they do
  // not. REQUIRES: the call has the inputs that it had.
  Result<bool> look_up_again();
  // Whether that may succeed.
  bool has_kept_ranks() const {
    return !call_.is_batch() && ids_ && (kept_.of_index != nullptr || kept_.of_model != nullptr);
  }

  // Whether all rows of an index that the call requests were found among kept ranks, and passed.
  bool was_looked_up() const {
    return kept_.of_index != nullptr && piece_.empty() && !ranking_ && next_query_ >= call_.query_count();
  }

  // Returns how many rows were scanned for the current query so far; 0 if its answer was kept.
  int64_t rows_read() const {
    return ranking_ ? ranking_->report().cost.rows_scanned : block_.note.rows_read;
  }

  // Whether the current query was answered with recall below 1, so that rows of its answer may be missing.
  bool is_approximate() const { return block_.note.approximate; }

  // What audits of the recall of the current query's answer had observed. REQUIRES: is_approximate()
  const AuditedRecall& audited() const {
    GLOVE_REQUIRE(is_approximate());
    return block_.audited;
  }

  // Returns how many queries the scan has begun. It changes when the inputs do.
  size_t query_count() const { return next_query_; }

  // Returns the inputs of the current row, with the values of its query if there is a batch.
  const Inputs& inputs() const { return inputs_; }
  // The words that the ids stand for; nullptr if they are keys.
  const Vocabulary* vocabulary() const { return vocabulary_; }
  // As Model::health().
  Status health() const;

 private:
  using Answer = AnswerCache::Answer;
  struct Row {
    Neighbor neighbor{};
    int64_t rank = 0;  // 0: not known
  };
  // How the rows of each query are found.
  enum class Strategy {
    kNothing,    // there are none
    kRequested,  // score only the requested rows
    kListed,     // compute all rows at once, for many queries together
    kRanked,     // compute rows on demand, in growing pieces
  };
  // Queries that were searched together: answers[i] is that of query first_query + i of the call.
  struct Block {
    size_t first_query = 0;
    std::vector<Answer> answers;
    std::vector<AnswerNote> notes;  // of each, or empty if `note` is the same for all
    AnswerNote note;                // of the current query
    AuditedRecall audited;
  };
  // The ranks of the current query, where they are kept.
  struct Kept {
    bool possible = false;  // of an index: other calls may request other rows
    RankCache::Ranks of_model;
    RankCache::Ranks of_index;
    int64_t limit = 0;           // the limit() of of_index
    std::vector<Neighbor> rows;  // of of_index: those that the call requests
  };
  void read_conditions();
  Strategy choose_strategy() const;
  // Returns how many rows the answer to a query needs. Conditions on rows change no approximate answer.
  int64_t limit() const;

  Result<bool> open_next_query();
  Status open_query();
  Status score_requested(SearchReport report);
  void end_ranking() noexcept;
  Result<RankCache::Ranks> find_ranks();
  Status keep_ranks(int searches_first);
  void show_kept_rows();
  Result<MaybeQuery> resolve(SearchReport& labels);
  Result<std::vector<Result<MaybeQuery>>> resolve_block() const;
  void set_piece(std::span<const Neighbor> piece);
  [[gnu::always_inline]] void prefetch_places(std::span<const Neighbor> rows, size_t begin, size_t end) const;
  [[gnu::always_inline]] void prefetch_bytes(std::span<const Neighbor> rows, size_t begin, size_t end) const;
  Result<Answer> answer_of_query();
  Result<Answer> answer_of_block();
  Status fill_block();
  int64_t block_size() const;
  void record(SearchReport report) const;
  enum class Verdict { kTake, kSkip, kEnd };
  Verdict judge() const;

  Engine& engine_;
  const RankedSource& source_;
  const FilterCall& call_;
  Inputs inputs_;
  SearchOptions options_;  // with the recall that applies
  const Vocabulary* const vocabulary_;
  RowRange range_;                           // the call's, and k
  std::optional<std::vector<int64_t>> ids_;  // the only rows to return, ascending; nullopt: all
  int64_t row_hint_;                         // rows that a first piece should have, or 0
  Strategy strategy_ = Strategy::kNothing;
  size_t next_query_ = 0;  // of the call
  Block block_;

  // The current query, best row first.
  std::optional<Query> query_;  // where one was needed
  Kept kept_;
  Answer answer_;                    // kRequested, kListed: all rows
  std::optional<Ranking> ranking_;   // kRanked: returns them in pieces; nullopt after the last one
  std::span<const Neighbor> piece_;  // of either: the next computed rows
  int64_t next_rank_ = 0;            // of piece_.front(); 0: not known
  size_t requested_left_ = 0;        // of ids_
  Row row_;
};

}  // namespace glove::sql::nn
