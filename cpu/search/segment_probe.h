// An approximate search of the segments of a live index for one query: it reads the lists whose centroids are
// nearest to the query, in all segments that have them, as many as the index's calibration asks for
// (lists/recall_table.h), and the segments without lists.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cpu/kernels/collector.h"
#include "cpu/kernels/kernels.h"
#include "cpu/search/scan.h"
#include "lists/probe_order.h"
#include "lists/recall_table.h"
#include "search/candidates.h"
#include "search/searcher.h"

namespace glove::cpu {

// How the calibration of other rows applies to those that a search may return. Of these there are `density`
// times as many in each list as rows when it was made, so that the nearest k of them lie where the nearest
// k / density of those did.
struct ProbePlan {
  const RecallTable* table;
  const float* centroids;  // of the lists
  int which;               // class of the calibration
  int64_t k;  // rows that the search looks for: those that are left of the class's, or at least the request's
};

// Returns nullopt if the request does not allow an approximate search, or the index was not calibrated for
// it.
std::optional<ProbePlan> plan_segment_probe(const ScanContext& context, const SearchRequest& request);

// One search, on the calling thread. The rows that it reads depend on nothing but the segments, the query, k
// and the recall. References outlive it.
class SegmentProbe {
 public:
  SegmentProbe(const ScanContext& context, const SearchRequest& request, const ProbePlan& plan);

  // Reads the lists. Returns false if the calibration does not know such queries: the answer must be exact.
  // `cost` is added to either way. An error is an interrupt.
  Result<bool> run(const InterruptCheck& interrupted, ScanCost& cost);

  // Returns the rows that may be among the best k of those that were read, with upper bounds of their
  // similarities, the greatest first. REQUIRES: run() returned true.
  std::vector<Neighbor> take_rows();

 private:
  // Reads lists until `rows` of the calibration's rows were read or there are none left.
  Status read_lists(int64_t rows, const InterruptCheck& interrupted);
  void fetch_list(int64_t list) const;
  void read_list(size_t part, int64_t begin, int64_t end);
  void read_tiles(const ModelPart& part, int64_t first, int64_t last);
  void multiply_centroids(const ModelPart& part, int64_t first_tile, int64_t last_tile);
  void bound_promising(const ModelPart& part, int64_t survivors);
  void bound_waiting();
  void fetch_codes(int32_t row) const;
  void bound(int32_t row);
  Status read_others(const InterruptCheck& interrupted);
  bool is_admissible(int32_t row) const;
  bool take_tile(size_t part, int64_t tile);
  RecallMeasurements measurements() const;

  const ScanContext& context_;
  const SearchRequest& request_;
  const ProbePlan plan_;
  const SplitQuery split_;
  const QuantizedQuery fine_query_;
  const std::vector<double> wide_;
  PlaneCodes codes_;
  const std::vector<int32_t> order_products_;
  const std::vector<int64_t> offsets_;        // of the lists, in rows of the calibration
  std::vector<float> products_;               // [lists], exact; NaN where no row was read
  std::vector<std::vector<uint64_t>> taken_;  // [part], a bit for each tile that was read
  ProbeOrder order_;
  int64_t next_list_;      // -1: there is none
  int64_t list_rows_ = 0;  // of the calibration, in the lists that were read
  // Memory of scans.
  struct {
    PlaneRows left;
    std::vector<Survivor> survivors;
  } scan_;
  std::vector<Collector::Candidate> waiting_;
  SharedBounds bounds_;
  Collector collector_;
  BestRows best_;  // by the codes, of the rows in lists
  ScanCost cost_;
};

}  // namespace glove::cpu
