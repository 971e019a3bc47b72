// Rows put into the relation's order piece by piece: the first rows cost no full sort.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "search/backend.h"
#include "search/neighbor.h"

namespace glove {

// Incremental quicksort: putting the first m of n rows in order costs O(n + m log m) in all, however many
// steps it takes. One thread at a time.
class OrderedRows {
 public:
  explicit OrderedRows(std::vector<Neighbor> rows);

  int64_t size() const { return static_cast<int64_t>(rows_.size()); }

  // Puts the first `count` rows (or all there are) in their final order; asks `interrupted` between
  // steps, and after kInterrupted may be called again.
  Status sort_first(int64_t count, const InterruptCheck& interrupted);

  // The rows that are in their final order. Valid until the next call.
  std::span<const Neighbor> sorted() const { return {rows_.data(), sorted_}; }

  // The first `count` rows as a vector of their own. REQUIRES: they are sorted.
  std::vector<Neighbor> take_first(int64_t count) &&;

 private:
  size_t partition(size_t end);

  std::vector<Neighbor> rows_;
  size_t sorted_ = 0;
  // Rows before a bound all rank before the rows from it on; falling, the nearest bound last.
  std::vector<size_t> bounds_;
};

}  // namespace glove
