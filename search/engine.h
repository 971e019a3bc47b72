// The engine: exact, certified top-k by cosine over any backend. The one place that rescores,
// sorts, excludes and cuts, so that every backend gives the same rows, bit for bit. Its functions may be
// called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/model.h"
#include "search/backend.h"
#include "search/neighbor.h"
#include "search/ordered_rows.h"
#include "search/query.h"
#include "search/stats.h"

namespace glove {

// True when one pass of D over all rows is cheaper than a certified scan.
inline bool wants_full_pass(const Model& model, int64_t k) {
  return k > model.words() / 16;
}

// How to search. `backend`: "auto", or a registered name. 'auto' takes the first that is available
// and can hold the model, and goes on with the next if one fails; a named one fails with its reason.
// Under 'auto' the setting "backend" may name the one to take.
struct SearchOptions {
  std::string backend = "auto";
  InterruptCheck interrupted;
};

// The first min(k, admissible rows) rows of each query's relation, best first. k <= 0 gives no rows.
// Queries are searched in blocks, so the memory is that of the answer and one block. Fills the report but
// for model, kind and resolve_us, which are the caller's. Opens and closes its own float environment.
Result<std::vector<std::vector<Neighbor>>> nearest(const ModelPtr& model, std::span<const Query> queries,
                                                   int64_t k, const SearchOptions& options,
                                                   SearchReport& report);

// The rows of these ids only, in the ids' order, without zero rows and excluded words; the work is
// proportional to ids.size(). Runs on the host.
Result<std::vector<Neighbor>> score_words(const Model& model, const Query& query,
                                          std::span<const int32_t> ids,
                                          const InterruptCheck& interrupted = {});

// Every admissible row of the query's relation, in no order yet: one pass of D over the model.
Result<OrderedRows> all_rows(const ModelPtr& model, const Query& query, const SearchOptions& options,
                             SearchReport& report);

// The rank (1 = nearest) of one row of the relation: by a search of the nearest rows if it is one of them, by
// a pass over all rows if not. REQUIRES: `row` came from this query.
Result<int64_t> rank_of(const ModelPtr& model, const Query& query, const Neighbor& row,
                        const SearchOptions& options, SearchReport& report);

// cos_sim of two vectors of the same length; nullopt if either is zero. Same bits as Neighbor::similarity.
std::optional<double> cosine_similarity(std::span<const float> a, std::span<const float> b);

// A query's relation, best first, computed in growing pieces as rows are asked for: searches of the
// nearest rows, each for eight times as many as the one before, then one pass over all rows that is sorted
// only as far as it is read. One thread at a time.
class Ranking {
 public:
  // `first_piece`: how many rows to compute at first (a hint such as LIMIT + OFFSET; 0 = a default).
  // `limit`: rows past it are never computed (k), or -1.
  Ranking(ModelPtr model, Query query, SearchOptions options, int64_t first_piece, int64_t limit);

  // The rows that are computed from `position` (0-based; rank = position + 1) on, at least one; empty past
  // the end. Valid until the next call. After an error the same rows may be asked for again.
  Result<std::span<const Neighbor>> rows_from(int64_t position);

  // Adds up what all pieces cost; k is the number of rows that were asked of the backend.
  const SearchReport& report() const { return report_; }

 private:
  Status compute_through(int64_t position);
  std::span<const Neighbor> ready() const;

  ModelPtr model_;
  Query query_;
  SearchOptions options_;
  int64_t next_piece_;
  int64_t limit_;
  bool complete_ = false;           // no row follows those that are ready
  std::vector<Neighbor> rows_;      // the first pieces
  std::optional<OrderedRows> all_;  // replaces rows_ after them
  SearchReport report_;
};

}  // namespace glove
