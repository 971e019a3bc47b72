// Sorts rows into the relation's order step by step, so that the first rows do not cost a full sort.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "search/query.h"

namespace glove {

// Incremental quicksort: putting the first m of n rows in order costs O(n + m log m) in total, in however
// many steps. One thread at a time may use it.
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

}  // namespace glove
