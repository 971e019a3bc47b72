// A search for one query that reads the codes of 4 bits first and scores the rows that these do not rule out
// at once (docs/exactness.md, "Two steps").
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cpu/collector.h"
#include "cpu/part_chunks.h"
#include "cpu/scan.h"
#include "cpu/wide_query.h"
#include "search/searcher.h"

namespace glove::cpu {

// Returns true if such a search is possible, and worthwhile or wanted by context.scan_bits.
bool wants_coarse_search(const ScanContext& context, const SearchRequest& request);

// The best k rows of one query so far. Thread-safe.
class BestRows {
 public:
  BestRows(int64_t k, SharedThreshold& threshold) : k_(static_cast<size_t>(k)), threshold_(threshold) {}

  // Adds rows with their exact similarities, and raises the threshold once there are k. Rows without a
  // similarity are omitted. Each row may be offered once.
  void offer(std::span<const Neighbor> rows);

  // The rows, in any order. REQUIRES: nobody offers any more.
  const std::vector<Neighbor>& rows() const { return rows_; }

 private:
  const size_t k_;
  SharedThreshold& threshold_;
  std::mutex mutex_;
  std::vector<Neighbor> rows_;  // a heap of at most k rows, the last in rank in front
};

// One search. References outlive it.
class CoarseSearch {
 public:
  // REQUIRES: wants_coarse_search(context, request)
  CoarseSearch(const ScanContext& context, const SearchRequest& request);

  // Returns false if it was interrupted.
  bool run(const InterruptCheck& interrupted);

  // After run(): every row of the answer is in one of these. Those of the second have no similarity yet.
  const std::vector<Neighbor>& scored_rows() const { return best_.rows(); }
  std::vector<Neighbor> unscored_rows() const;

  // Adds bytes_scanned and the candidates that were scored.
  void add_cost(ScanCost& cost) const;

 private:
  // What one thread uses.
  struct Slot {
    std::vector<Survivor> survivors;
    std::vector<Collector> collector;  // at most one: made when the thread first scans by 8 bits
    int64_t scored = 0;
    int64_t bytes = 0;
  };

  void scan_by_4_bits(Slot& slot, const PartChunks::Chunk& chunk);
  void scan_by_8_bits(Slot& slot, const PartChunks::Chunk& chunk);
  void score(Slot& slot, const ModelPart& part, int64_t count);

  const ScanContext& context_;
  const SearchRequest& request_;
  const int64_t k_;
  const QuantizedQuery coarse_query_;
  const QuantizedQuery fine_query_;
  std::vector<int8_t> coarse_packed_;
  std::vector<int8_t> fine_packed_;
  const std::vector<double> wide_;
  SharedThreshold threshold_;
  BestRows best_;
  std::vector<Slot> slots_;
  std::atomic<int64_t> rows_read_{0};  // by 4 bits
  std::atomic<int64_t> rows_scored_{0};
};

}  // namespace glove::cpu
