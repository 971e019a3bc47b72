// An approximate search for one query: it reads the lists whose centroids are nearest to the query, as many
// as the model's calibration asks for (lists/recall_table.h).
#pragma once

#include <cstdint>
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
  // Reads lists until `rows` rows of lists were read or there are none left, and scores what their codes do
  // not rule out.
  Status read_lists(int64_t rows, const InterruptCheck& interrupted);
  void read_list(int64_t begin, int64_t end);
  void fetch_list(int64_t list) const;
  void read_tiles(int64_t first, int64_t last);
  void multiply_centroids(int64_t first_tile, int64_t last_tile);
  void score_promising(int64_t survivors);
  void score_waiting();
  void score(std::span<Neighbor> rows);
  bool take_tile(int64_t tile);
  RecallMeasurements measurements() const;
  // The rows that are looked for: those of the class.
  int64_t k() const { return kRecallKs[static_cast<size_t>(which_)]; }

  const ScanContext& context_;
  const SearchRequest& request_;
  const ModelPart& part_;
  const PlaneLevel& level_;
  const int which_;  // class of the calibration
  const SplitQuery split_;
  const std::vector<double> wide_;
  PlaneCodes codes_;
  std::vector<int32_t> order_products_;
  std::vector<float> products_;  // [lists], exact; NaN where no row was read
  std::vector<uint64_t> taken_;  // a bit for each tile that was read
  ProbeOrder order_;
  int64_t next_list_;      // -1: there is none
  int64_t list_rows_ = 0;  // of the lists that were read
  PlaneRows left_;
  std::vector<Survivor> survivors_;
  std::vector<Survivor> waiting_;
  BestRows best_;
  float threshold_;
  ScanCost cost_;
};

}  // namespace glove::cpu
