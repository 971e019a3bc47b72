// The engine: exact, certified top-k by cosine over any backend. The one place that rescores,
// sorts, excludes and cuts, so that every backend gives the same rows, bit for bit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loader/model.h"
#include "loader/status.h"
#include "search/backend.h"
#include "search/query.h"

namespace glove {

// One row of the relation. Order: similarity falling, then id rising.
struct Neighbor {
  int32_t id;
  double similarity;
};
inline bool ranks_before(const Neighbor& a, const Neighbor& b) {
  return a.similarity != b.similarity ? a.similarity > b.similarity : a.id < b.id;
}

// What a search was and cost: one row of glove_stats.
struct SearchReport {
  std::string backend;  // the one that answered
  std::string device;
  std::string kind;  // "near", "expr", "vector", "batch", "all", "words", ...
  int64_t queries = 0;
  int64_t k = 0;
  ScanCost cost;
  double resolve_us = 0;  // words or expression -> vectors
  double total_us = 0;
};

// How to search. `backend`: "auto", or a registered name. 'auto' takes the first that is available
// and can hold the model, and goes on with the next if one fails; a named one fails with its reason.
struct SearchOptions {
  std::string backend = "auto";
  InterruptCheck interrupted;
};

// The first min(k, admissible rows) rows of each query's relation, best first.
// k <= 0 gives no rows. Opens and closes its own float environment.
Result<std::vector<std::vector<Neighbor>>> nearest(const ModelPtr& model, std::span<const Query> queries,
                                                   int64_t k, const SearchOptions& options,
                                                   SearchReport& report);

// The rows of these ids only, in the ids' order, without zero rows and excluded words; the work is
// proportional to ids.size(). Runs on the host.
std::vector<Neighbor> score_words(const Model& model, const Query& query, std::span<const int32_t> ids);

// The rank (1 = nearest) of one row of the relation.
// REQUIRES: `row` came from this query.
Result<int64_t> rank_of(const ModelPtr& model, const Query& query, const Neighbor& row,
                        const SearchOptions& options, SearchReport& report);

// cos_sim of two vectors of the same length; nullopt if either is zero. Same bits as Neighbor::similarity.
std::optional<double> cosine_similarity(std::span<const float> a, std::span<const float> b);

// A query's relation, best first, computed in growing pieces as rows are asked for. One thread at a time.
class Ranking {
 public:
  // `first_piece`: how many rows to compute at first (a hint such as LIMIT + OFFSET; 0 = a default).
  // `limit`: rows past it are never computed (k), or -1.
  Ranking(ModelPtr model, Query query, SearchOptions options, int64_t first_piece, int64_t limit);

  // Row `position` (0-based; rank = position + 1), or nullptr past the end. Pointers stay valid until the
  // next call.
  Result<const Neighbor*> row(int64_t position);

  const SearchReport& report() const { return report_; }

 private:
  ModelPtr model_;
  Query query_;
  SearchOptions options_;
  int64_t next_piece_;
  int64_t limit_;
  bool complete_ = false;
  std::vector<Neighbor> rows_;
  SearchReport report_;
};

}  // namespace glove
