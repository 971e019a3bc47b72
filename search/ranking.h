// A query's whole relation, computed only as far as it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "search/nearest.h"

namespace glove {

// A query's relation, best first, computed in growing pieces as rows are requested: searches for the nearest
// rows, each for eight times as many as the previous one, then one pass over all rows that is sorted only as
// far as it is read. One thread at a time may use it.
class Ranking {
 public:
  // `first_piece`: how many rows to compute first (a hint such as LIMIT + OFFSET; 0 = a default). `limit`:
  // rows beyond it are never computed (k); -1 = no limit.
  Ranking(ModelSearchersPtr searchers, Query query, SearchOptions options, int64_t first_piece,
          int64_t limit);

  // Returns the computed rows from `position` (0-based; rank = position + 1) on: at least one, or none past
  // the end. Valid until the next call. After an error the same rows may be requested again.
  Result<std::span<const Neighbor>> rows_from(int64_t position);

  // Returns the total cost of all pieces; k is the number of rows that were requested from the backend.
  const SearchReport& report() const { return report_; }

 private:
  Status compute_through(int64_t position);
  std::span<const Neighbor> ready() const;

  ModelSearchersPtr searchers_;
  Query query_;
  SearchOptions options_;
  int64_t next_piece_;
  int64_t limit_;
  bool complete_ = false;           // no rows follow those that are ready
  std::vector<Neighbor> rows_;      // from the first pieces
  std::optional<OrderedRows> all_;  // replaces rows_ once it is set
  SearchReport report_;
};

}  // namespace glove
