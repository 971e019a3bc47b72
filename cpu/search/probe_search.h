// An approximate search for one query: it reads the lists whose centroids are nearest to the query, as many
// as a calibration asks for (lists/recall_table.h). The rows in lists are those of a model, or of the
// segments of a live index.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cpu/kernels/kernels.h"
#include "cpu/search/last_level.h"
#include "cpu/search/probe_plan.h"
#include "cpu/search/scan.h"
#include "lists/probe_order.h"
#include "lists/recall_table.h"
#include "search/candidates.h"
#include "search/searcher.h"

namespace glove::cpu {

// Answers those requests that want it by such a search, several at a time, and marks them as approximate.
// REQUIRES: the requests have the same mask.
Status search_approximately(const ScanContext& context, std::span<SearchRequest> requests);

// Returns the numbers of the `count` greatest estimates, of which equal ones come by number, in any order;
// all if there are not as many. REQUIRES: no estimate is NaN.
std::vector<size_t> greatest_estimates(std::span<const float> estimates, size_t count);

// What a search knows of its query. Not copied, because parts refer to others.
struct ProbeQuery {
  ProbeQuery(const ScanContext& context, const Query& query, const RecallTable& table);
  ProbeQuery(const ProbeQuery&) = delete;
  ProbeQuery& operator=(const ProbeQuery&) = delete;

  SplitQuery split;
  PlaneCodes codes;
  std::vector<int32_t> order;   // [lists], the products that order them
  std::vector<float> products;  // [lists], of the centroids, about
  PlaneQuery planes;
};

// Rows that are to be scored, by their positions in the lists of all parts, one part after the other.
struct RowsToScore : PlaneEstimates {
  size_t numbered = 0;  // of these, those whose row numbers were fetched,
  size_t fetched = 0;   // and what they are scored by
};

// What was read. A tile may have rows of several lists.
struct ReadPlaces {
  std::vector<bool> lists;
  std::vector<std::vector<bool>> tiles = {};  // [part]
};

// The nearest row so far; -1: none.
struct NearestRow {
  Neighbor row = {-1, kNoScore};
  int64_t taken_out = -1;      // the row that read_remainder() last took out of the query
  double excluded = kNoScore;  // LastLevel::nearest_excluded()
};

// One search, on the calling thread: it takes about as long as waking another one. The rows that it reads,
// and so its answer, depend on nothing but the lists, the query, k and the recall. References outlive it.
class ProbeSearch {
 public:
  ProbeSearch(const ScanContext& context, const SearchRequest& request, const ProbePlan& plan);

  // Reads the lists, and returns SearchRequest::rows; nullopt if the calibration does not know such queries:
  // the answer must be exact. Errors: an interrupt, and those of the request's reader.
  Result<std::optional<std::vector<Neighbor>>> run(const InterruptCheck& interrupted);

  const ScanCost& cost() const { return cost_; }

 private:
  // Reads lists until `rows` rows of the calibration were read or there are none left, and scores those that
  // may be among the best.
  Status read_lists(int64_t rows, const InterruptCheck& interrupted);
  Status read_list(int64_t list);
  Status read_rows(size_t part, int64_t list);
  // Reads the lists nearest to the query without its nearest row. If the query is a sum of rows, these are
  // its nearest but lie in lists far from it, and so one of them leads to another.
  Status read_remainder();
  Status read_tiles(size_t part, const PlaneTiles& tiles);
  void keep_admissible(const ModelPart& part, size_t first);
  // Returns the row of the model at a position, or -1 if there is none.
  int64_t row_at(int32_t position) const;
  void fetch_kept();
  void fetch_number(int32_t position) const;
  Status score_first();
  Status score_kept();
  void choose(size_t kept);
  Status score_chosen();
  // Scans the parts that are in no lists.
  Status read_others(const InterruptCheck& interrupted);
  RecallMeasurements measurements() const;
  std::span<const ModelPart> parts() const { return context_.model.parts(); }

  const ScanContext& context_;
  const SearchRequest& request_;
  const ProbePlan plan_;
  const std::unique_ptr<LastLevel> last_;
  const float margin_;
  const ProbeQuery query_;
  const std::vector<int64_t> own_offsets_;  // if no part has those of the calibration
  const std::span<const int64_t> offsets_;  // of the lists, in rows of the calibration
  ReadPlaces read_;
  ProbeOrder order_;
  int64_t next_list_;      // -1: there is none
  int64_t list_rows_ = 0;  // of the calibration, in the lists that were read
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  int64_t score_after_ = kNever;  // so many rows of lists
  RowsToScore kept_;
  std::vector<Neighbor> scored_;  // together
  BestRows best_;
  NearestRow nearest_;
  float share_;  // of a row's distance that may be missing in its estimate
  float limit_;
  ScanCost cost_;
};

}  // namespace glove::cpu
