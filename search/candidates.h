// Turns the rows that may belong to an answer into the answer, in place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/require.h"
#include "model/exact_dot.h"
#include "model/model.h"
#include "search/query.h"

namespace glove {

// False for the segments of a live index, whose vectors are in the user's table.
inline bool has_vectors(const Model& model) {
  return !model.parts().front().vectors.empty();
}

// Returns what a row's score is computed from: D(q, x) or, for kL2, minus the distance. REQUIRES: the float
// environment.
double product_of(const Model& model, const Query& query, int64_t row);

// Returns the exact score of a row: kNoScore for a zero row, if it would be a cosine. REQUIRES: product =
// product_of().
inline double score_of(const Model& model, const Query& query, int64_t row, double product) {
  if (model.is_shifted()) return product;
  const double norm_squared = model.norm_squared(row);
  return norm_squared > 0 ? cosine_from_dots(product, query.norm_squared, norm_squared) : kNoScore;
}

// Sets each row's exact score. Runs on the calling thread.
void rescore(const Model& model, const Query& query, std::vector<Neighbor>& rows);

// The best k of the rows that were offered so far. One thread at a time.
class BestRows {
 public:
  // REQUIRES: k > 0.
  explicit BestRows(int64_t k) : k_(static_cast<size_t>(k)) { GLOVE_REQUIRE(k > 0); }

  // Whether offer() would keep the row.
  bool takes(const Neighbor& row) const {
    return row.similarity > kNoScore && (rows_.size() < k_ || ranks_before(row, rows_.front()));
  }

  // Keeps a row with its exact similarity if it is among the best so far. A row without one is omitted. Each
  // row may be offered once.
  void offer(const Neighbor& row) {
    if (!takes(row)) return;
    if (rows_.size() == k_) {
      std::pop_heap(rows_.begin(), rows_.end(), ranks_before);
      rows_.back() = row;
    } else {
      rows_.push_back(row);
    }
    std::push_heap(rows_.begin(), rows_.end(), ranks_before);
  }

  // Returns a similarity that each further row must reach: that of the k-th best row, or kNoScore if there
  // are fewer.
  double threshold() const { return rows_.size() == k_ ? rows_.front().similarity : kNoScore; }

  // Returns the rows, in any order.
  const std::vector<Neighbor>& rows() const { return rows_; }

  // Returns the rows, best first.
  std::vector<Neighbor> take() && {
    std::sort_heap(rows_.begin(), rows_.end(), ranks_before);
    return std::move(rows_);
  }

 private:
  size_t k_;
  std::vector<Neighbor> rows_;  // a heap with the worst row in front
};

// Keeps the best k of the rows that have a similarity and are not excluded, best first. If the rows are
// already in that order, they are not sorted again. Frees memory that so few rows do not need.
void keep_best(const Query& query, int64_t k, std::vector<Neighbor>& rows);

// Merges several answers into one: those of the parts of a model, of devices, or of the segments of an index.
// Returns the best k rows of all answers, best first. REQUIRES: each answer is in the relation's order, and
// no row is in two answers.
std::vector<Neighbor> merge_ranked(std::span<const std::span<const Neighbor>> answers, int64_t k);

}  // namespace glove
