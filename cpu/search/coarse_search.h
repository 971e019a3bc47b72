// A search for one query that reads the codes of 4 bits, or those of rows in lists in two planes of 2 bits,
// and then scores the rows that these do not rule out (docs/exactness.md, "Two steps"). Of a model without
// vectors it bounds these rows by their codes of 8 bits.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "cpu/kernels/collector.h"
#include "cpu/kernels/wide_query.h"
#include "cpu/search/part_chunks.h"
#include "cpu/search/plane_parts.h"
#include "cpu/search/scan.h"
#include "search/candidates.h"
#include "search/searcher.h"

namespace glove::cpu {

// Returns true if such a search is possible, and either promises to be faster than one by 8 bits or is wanted
// by context.scan_bits.
bool wants_coarse_search(const ScanContext& context, const SearchRequest& request);

// The best k rows of one query so far. Thread-safe.
class SharedBest {
 public:
  SharedBest(int64_t k, SharedThreshold& threshold) : k_(k), threshold_(threshold), best_(k) {}

  // Adds rows as BestRows does, and raises the threshold once there are k.
  void offer(std::span<const Neighbor> rows);

  // Forgets the rows; the threshold stays. REQUIRES: nobody else uses it.
  void clear() GLOVE_NOT_CHECKED { best_ = BestRows(k_); }

  // The rows, in any order. REQUIRES: nobody offers any more.
  const std::vector<Neighbor>& rows() const GLOVE_NOT_CHECKED { return best_.rows(); }

 private:
  const int64_t k_;
  SharedThreshold& threshold_;
  Mutex mutex_;
  BestRows best_ GLOVE_GUARDED_BY(mutex_);
};

// One search. References outlive it.
class CoarseSearch {
 public:
  // REQUIRES: wants_coarse_search(context, request)
  CoarseSearch(const ScanContext& context, const SearchRequest& request);

  // Returns false if it was interrupted.
  bool run(const InterruptCheck& interrupted);

  // After run(): every row of the answer is in one of these. Those of the second have the upper bounds of
  // their similarities.
  const std::vector<Neighbor>& scored_rows() const { return best_.rows(); }
  std::vector<Neighbor> unscored_rows() const;

  // Adds bytes_scanned and the candidates that were scored.
  void add_cost(ScanCost& cost) const;

 private:
  using SurvivorIterator = std::vector<Survivor>::iterator;
  using Candidate = Collector::Candidate;

  // What one thread uses.
  struct Slot {
    std::vector<Survivor> survivors;   // of the chunk in work
    PlaneRows left;                    // by plane one, of the chunk in work
    std::vector<Candidate> waiting;    // rows that the codes of 4 bits do not rule out, to be scored
    std::vector<Neighbor> rows;        // that are being scored
    std::vector<Collector> collector;  // at most one: made when the thread first uses codes of 8 bits
    CapTally caps;                     // of its scans by 4 bits
    int64_t rows_read = 0;             // by 4 bits or planes
    int64_t second_reads = 0;          // of rows in plane two
    int64_t scored = 0;
    int64_t bytes = 0;
  };

  const RowMask* among() const { return request_.query->among.get(); }
  // Whether a row may be in the answer, and whether that is known of all rows. A few excluded rows may.
  bool admits(int64_t row) const {
    return (among() == nullptr || among()->admits(row)) &&
           (excluded_.empty() || !excluded_[static_cast<size_t>(row)]);
  }
  bool admits_all() const { return among() == nullptr && excluded_.empty(); }
  bool scan(const InterruptCheck& interrupted);
  Collector& collector_of(Slot& slot);
  // Scores some rows of the nearest lists, so that there is a threshold.
  void find_threshold();
  // Reads all planes, and 8 bits of the parts that have none, or gives up and forgets the rows.
  bool scan_by_planes(const InterruptCheck& interrupted);
  // Scans those tiles that have an admissible row.
  void scan_tiles(Slot& slot, const TileRange& tiles);
  void scan_planes(Slot& slot, const TileRange& tiles);
  bool score_waiting(const InterruptCheck& interrupted);
  void scan_by_4_bits(Slot& slot, const PartChunks::Chunk& chunk);
  void scan_rows_by_4_bits(Slot& slot, const ModelPart& part, int64_t first, int64_t last);
  void scan_by_8_bits(Slot& slot, const PartChunks::Chunk& chunk);
  void prefetch_codes(int32_t row) const;
  // Offers the row to the collector with its bounds by 8 bits.
  void bound_by_8_bits(Slot& slot, int32_t row);
  // Scores the promising ones of the first `count` survivors; the others wait.
  void keep_survivors(Slot& slot, const ModelPart& part, int64_t count);
  // Scores the rows that are likely to raise the threshold, a few at a time. Returns the end of the others.
  SurvivorIterator score_promising(Slot& slot, const ModelPart& part, SurvivorIterator begin,
                                   SurvivorIterator end);
  // Scores slot.rows.
  void score(Slot& slot);
  // Returns false if scoring the thread's rows costs more than reading 4 bits instead of 8 has saved.
  bool is_worthwhile(Slot& slot);

  const ScanContext& context_;
  const SearchRequest& request_;
  const int64_t k_;
  const SplitQuery coarse_query_;
  const QuantizedQuery fine_query_;
  std::vector<int8_t> coarse_packed_;
  std::vector<int8_t> fine_packed_;
  const std::vector<double> wide_;
  const std::optional<PlaneParts> planes_;
  std::vector<bool> excluded_;  // by row; empty if few are
  SharedBounds bounds_;         // from scans by 8 bits, and the threshold of both
  SharedBest best_;
  std::vector<Slot> slots_;
  std::atomic<bool> gave_up_{false};
};

}  // namespace glove::cpu
