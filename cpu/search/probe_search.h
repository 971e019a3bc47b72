// An approximate search for one query: it reads the lists whose centroids are nearest to the query, as many
// as the model's calibration asks for (lists/recall_table.h).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cpu/kernels/kernels.h"
#include "cpu/search/scan.h"
#include "lists/probe_order.h"
#include "lists/recall_table.h"
#include "search/candidates.h"
#include "search/searcher.h"

namespace glove::cpu {

// Returns true if the request allows an approximate search and the model was calibrated for it.
bool wants_probe_search(const ScanContext& context, const SearchRequest& request);

// Answers those requests that want it by such a search, several at a time, and marks them as approximate.
// REQUIRES: the requests have the same mask.
Status search_approximately(const ScanContext& context, std::span<SearchRequest> requests);

// What a search knows of its query. Not copied, because parts refer to others.
struct ProbeQuery {
  ProbeQuery(const ScanContext& context, const Query& query, const PlaneLevel& level);
  ProbeQuery(const ProbeQuery&) = delete;
  ProbeQuery& operator=(const ProbeQuery&) = delete;

  SplitQuery split;
  PlaneCodes codes;
  std::vector<int32_t> order;   // [lists], the products that order them
  std::vector<float> products;  // [lists], of the centroids, about
  PlaneQuery planes;
};

// Rows that are to be scored.
struct RowsToScore : PlaneEstimates {
  size_t numbered = 0;  // of these, those whose row numbers were fetched,
  size_t fetched = 0;   // and whose vectors
};

// One search, on the calling thread: it takes about as long as waking another one. The rows that it reads,
// and so its answer, depend on nothing but the model, the query, k and the recall. References outlive it.
class ProbeSearch {
 public:
  // REQUIRES: wants_probe_search(context, request)
  ProbeSearch(const ScanContext& context, const SearchRequest& request);

  // Reads the lists. Returns false if the calibration does not know such queries: the answer must be exact.
  // `cost` is added to either way. An error is an interrupt.
  Result<bool> run(const InterruptCheck& interrupted, ScanCost& cost);

  // Returns the best rows of those lists, best first, with exact similarities. REQUIRES: run() returned true.
  std::vector<Neighbor> take_rows();

 private:
  // Reads lists until `rows` rows of lists were read or there are none left, and scores those that may be
  // among the best.
  Status read_lists(int64_t rows, const InterruptCheck& interrupted);
  void read_list(int64_t list);
  void read_tiles(const PlaneTiles& tiles);
  bool take_tile(int64_t tile);
  // Returns the row at a position, or -1 if there is none.
  int32_t row_at(int32_t position) const;
  void fetch_kept();
  void score_first();
  void score_kept();
  void score(std::span<const Survivor> survivors);
  RecallMeasurements measurements() const;
  // The rows that are looked for: those of the class.
  int64_t k() const { return kRecallKs[static_cast<size_t>(which_)]; }

  const ScanContext& context_;
  const SearchRequest& request_;
  const ModelPart& part_;
  const PlaneLevel& level_;
  const int which_;  // class of the calibration
  const float margin_;
  const std::vector<double> wide_;
  const ProbeQuery query_;
  std::vector<uint64_t> taken_;  // a bit for each tile that was read
  ProbeOrder order_;
  int64_t next_list_;      // -1: there is none
  int64_t list_rows_ = 0;  // of the lists that were read
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  int64_t score_after_ = kNever;  // so many rows of lists
  RowsToScore kept_;
  std::vector<Neighbor> scored_;
  BestRows best_;
  float share_;  // of a row's distance that may be missing in its estimate
  float limit_;
  ScanCost cost_;
};

}  // namespace glove::cpu
