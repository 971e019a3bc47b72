// Exact, certified top-k by cosine over any backend. Every backend returns the same rows, bit for bit. The
// functions may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/model.h"
#include "search/backend.h"
#include "search/model_searchers.h"
#include "search/query.h"
#include "search/statistics.h"

namespace glove {

// True when one pass of D over all rows is cheaper than a certified scan.
inline bool wants_full_pass(const Model& model, int64_t k) {
  return k > model.words() / 16;
}

// How to search. `backend` is "auto" or a registered name. 'auto' takes the first backend that is available
// and can hold the model, and continues with the next one if it fails; a named backend that fails returns its
// reason. Under 'auto' the setting "backend" may name the backend to use.
//
// `recall` is that of the SearchTerms of nearest(), for k up to kMostRecallK; a model that was not
// calibrated is searched exactly all the same.
struct SearchOptions {
  std::string backend = "auto";
  InterruptCheck interrupted;
  double recall = 1;
  PartReader* reader = nullptr;  // as in SearchTerms; `backend` must name the CPU's then
  // Whether queries may be audited now (nearest_with_audits()); empty: no.
  std::function<bool()> may_audit = {};

  bool is_exact() const { return recall == 1; }
};

constexpr int64_t kMostRecallK = 1000;

// The rows of each query, in the order of the queries.
using Answers = std::vector<std::vector<Neighbor>>;

// Rows that are sorted into the relation's order step by step, so that the first rows do not cost a full
// sort. Incremental quicksort: putting the first m of n rows in order costs O(n + m log m) in total, in
// however many steps. One thread at a time may use it.
class OrderedRows {
 public:
  explicit OrderedRows(std::vector<Neighbor> rows);

  int64_t size() const { return static_cast<int64_t>(rows_.size()); }

  // Puts the first `count` rows (or all, if there are fewer) in their final order. Calls `interrupted`
  // between steps, and may be called again after kInterrupted.
  Status sort_first(int64_t count, const InterruptCheck& interrupted);

  // Returns the rows that are in their final order. Valid until the next call.
  std::span<const Neighbor> sorted() const { return {rows_.data(), sorted_}; }

  // Returns the first `count` rows as a separate vector. REQUIRES: they are sorted.
  std::vector<Neighbor> take_first(int64_t count) &&;

 private:
  size_t partition(size_t end);

  std::vector<Neighbor> rows_;
  size_t sorted_ = 0;
  // All rows before a boundary rank before the rows from it on. Descending, so the nearest one is last.
  std::vector<size_t> boundaries_;
};

// All queries of a call have the same mask (Query::among), or none has one.

// Returns the first min(k, admissible rows) rows of each query's relation, best first. k <= 0 returns no
// rows. Queries are searched in blocks, so the memory needed is that of the answer and one block. Fills in
// the report except for model, kind and resolve_us, which the caller sets. Sets its own float environment.
Result<Answers> nearest(ModelSearchers& searchers, std::span<const Query> queries, int64_t k,
                        const SearchOptions& options, SearchReport& report);

// For a model without vectors: returns all rows that may be among the first k of each query's relation, with
// upper bounds in place of the similarities, the greatest bound first. REQUIRES: k >= 1. Fills in the report
// as nearest() does.
Result<Answers> candidates_of(ModelSearchers& searchers, std::span<const Query> queries, int64_t k,
                              const SearchOptions& options, SearchReport& report);

// Returns only the rows with these ids, in the ids' order, without zero rows and excluded words. The cost is
// proportional to ids.size(). Runs on the host.
Result<std::vector<Neighbor>> score_words(const Model& model, const Query& query,
                                          std::span<const int64_t> ids,
                                          const InterruptCheck& interrupted = {});

// Returns every admissible row of the query's relation, not yet ordered: one pass of D over the model.
Result<OrderedRows> all_rows(ModelSearchers& searchers, const Query& query, const SearchOptions& options,
                             SearchReport& report);

// Returns the rank (1 = nearest) of one row of the relation: from a search of the nearest rows if it is among
// them, and otherwise from a pass over all rows. REQUIRES: `row` came from this query.
Result<int64_t> rank_of(ModelSearchers& searchers, const Query& query, const Neighbor& row,
                        const SearchOptions& options, SearchReport& report);

}  // namespace glove
