// A query's whole relation, read as far as somebody asks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "search/nearest.h"

namespace glove {

// A query's relation, best first, computed in growing pieces as rows are asked for: searches of the
// nearest rows, each for eight times as many as the one before, then one pass over all rows that is sorted
// only as far as it is read. One thread at a time.
class Ranking {
 public:
  // `first_piece`: how many rows to compute at first (a hint such as LIMIT + OFFSET; 0 = a default).
  // `limit`: rows past it are never computed (k), or -1.
  Ranking(ModelSearchersPtr searchers, Query query, SearchOptions options, int64_t first_piece,
          int64_t limit);

  // The rows that are computed from `position` (0-based; rank = position + 1) on, at least one; empty past
  // the end. Valid until the next call. After an error the same rows may be asked for again.
  Result<std::span<const Neighbor>> rows_from(int64_t position);

  // Adds up what all pieces cost; k is the number of rows that were asked of the backend.
  const SearchReport& report() const { return report_; }

 private:
  Status compute_through(int64_t position);
  std::span<const Neighbor> ready() const;

  ModelSearchersPtr searchers_;
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
