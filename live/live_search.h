// Searches a live index: its segments, without the rows that were deleted or changed since, and the changed
// rows as the user's table has them now. Exact, like search/nearest.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "live/part_set.h"
#include "search/nearest.h"

namespace glove::live {

// A row of an answer: the key of a row of the user's table, and its exact similarity.
struct LiveNeighbor {
  int64_t id;
  double similarity;
};

// The order of a live index's relation: falling similarity, then rising id.
inline bool live_ranks_before(const LiveNeighbor& a, const LiveNeighbor& b) {
  return a.similarity != b.similarity ? a.similarity > b.similarity : a.id < b.id;
}

// Receives a row with its vector. An error ends the reading.
using UseRow = std::function<Status(int64_t id, std::span<const float> vector)>;

struct IndexState;

// Reads the vectors of the user's table as the running statement sees it. A row has a vector if it is in the
// table and is neither NULL nor of other dimensions than the index, nor has a NaN or an infinity. One thread
// at a time.
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Leaves the vector of a row in `vector`. Returns false if it has none.
  virtual Result<bool> read(int64_t id, std::vector<float>& vector) = 0;
  // The same for a row of the state's parts that is not hidden.
  virtual Result<bool> read_indexed(const IndexState& state, int32_t row, std::vector<float>& vector) = 0;
  // Passes every row that has a vector, in any order.
  virtual Status read_all(const UseRow& use) = 0;
};

// The logged rows that are in the relation.
struct ChangedRows {
  std::vector<int64_t> ids;
  std::vector<float> vectors;         // [ids.size(), dims]
  std::vector<double> norms_squared;  // [ids.size()], D(x, x) > 0
};

// What a statement sees of an index. The statement's transaction decides, so it does not outlive it.
struct IndexState {
  int64_t dims = 0;                            // 0: the index has never had a row
  PartSetPtr parts;                            // null: there are no segments
  std::vector<int64_t> segment_ids;            // by which the RowSource knows the segments of the parts
  std::vector<int32_t> hidden;                 // rows of the parts that must not be returned, ascending
  std::shared_ptr<const ChangedRows> changed;  // never null in a state that is searched
};

// Makes a row of the parts hidden, because the user's table no longer has it.
void hide_row(IndexState& state, int32_t row);

// Returns the first min(k, rows) rows of each query's relation, best first. k <= 0 returns no rows. A row of
// a segment that the user's table lacks is hidden from now on. Fills in the report as nearest() does.
// REQUIRES: the queries have no excluded rows.
Result<std::vector<std::vector<LiveNeighbor>>> live_nearest(IndexState& state, RowSource& rows,
                                                            std::span<const Query> queries, int64_t k,
                                                            const SearchOptions& options,
                                                            SearchReport& report);

// Returns only those of the rows with these ids that have a vector, best first.
Result<std::vector<LiveNeighbor>> live_score(RowSource& rows, const Query& query,
                                             std::span<const int64_t> ids);

// A query's whole relation, computed in growing pieces as far as it is read. One thread at a time.
class LiveRanking {
 public:
  // `first_piece`: how many rows to compute first; 0 = a default. All arguments must outlive the ranking.
  LiveRanking(IndexState& state, RowSource& rows, Query query, SearchOptions options, int64_t first_piece);

  // Returns the rows from `position` (0-based) on: at least one, or none past the end. Valid until the next
  // call.
  Result<std::span<const LiveNeighbor>> rows_from(int64_t position);

  // Returns the cost of the last piece.
  const SearchReport& report() const { return report_; }

 private:
  IndexState& state_;
  RowSource& source_;
  Query query_;
  SearchOptions options_;
  int64_t next_piece_;
  bool complete_ = false;
  std::vector<LiveNeighbor> rows_;
  SearchReport report_;
};

}  // namespace glove::live
