// A search for one query that reads a coarse level of every row: the codes of 4 bits, or those of rows in
// lists in two planes of 2 bits. The last level decides about the rows that it leaves (docs/exactness.md,
// "Two steps").
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/search/last_level.h"
#include "cpu/search/part_chunks.h"
#include "cpu/search/plane_parts.h"
#include "cpu/search/scan.h"
#include "cpu/search/search_plan.h"
#include "search/searcher.h"

namespace glove::cpu {

// One search. References outlive it.
class CoarseSearch {
 public:
  // REQUIRES: the plan is one of the request, and begins with 4 bits or planes.
  CoarseSearch(const ScanContext& context, const SearchRequest& request, const SearchPlan& plan);

  // Returns the answer (SearchRequest::rows). Errors: an interrupt.
  Result<std::vector<Neighbor>> run(const InterruptCheck& interrupted, ScanCost& cost);

 private:
  using SurvivorIterator = std::vector<Survivor>::iterator;
  using Candidate = Collector::Candidate;

  // What one thread uses.
  struct Slot {
    int number = 0;
    std::vector<Survivor> survivors;  // of the chunk in work
    PlaneRows left;                   // by plane one, of the chunk in work
    std::vector<Candidate> waiting;   // rows that the coarse level does not rule out, to be scored
    std::vector<Neighbor> rows;       // that are being scored
    CapTally caps;                    // of its scans by 4 bits
    int64_t rows_read = 0;            // by the coarse level
    int64_t second_reads = 0;         // of rows in plane two
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
  // Scores some rows of the nearest lists, so that there is a threshold.
  void find_threshold();
  // Reads the coarse level or, once it has given up, 8 bits of the rows that are left. Planes that give up
  // are left unread.
  bool scan_chunks(int64_t tiles, const InterruptCheck& interrupted);
  // Scans those tiles that have an admissible row.
  void scan_by_planes(Slot& slot, const PartChunks::Chunk& chunk);
  void scan_tiles(Slot& slot, size_t part, int64_t first, int64_t last);
  bool score_waiting(const InterruptCheck& interrupted);
  void scan_by_4_bits(Slot& slot, const PartChunks::Chunk& chunk);
  void scan_rows_by_4_bits(Slot& slot, const ModelPart& part, int64_t first, int64_t last);
  // Scores the promising ones of the first `count` survivors; the others wait.
  void keep_survivors(Slot& slot, const ModelPart& part, int64_t count);
  // Scores the rows that are likely to raise the threshold, a few at a time. Returns the end of the others.
  SurvivorIterator score_promising(Slot& slot, const ModelPart& part, SurvivorIterator begin,
                                   SurvivorIterator end);
  // Scores slot.rows.
  void score(Slot& slot);
  // Returns false if scoring the thread's rows costs more than reading the coarse level has saved.
  bool is_worthwhile(Slot& slot);

  const ScanContext& context_;
  const SearchRequest& request_;
  const SearchPlan plan_;
  const int64_t k_;
  const SplitQuery coarse_query_;
  std::vector<int8_t> coarse_packed_;
  std::optional<PlaneParts> planes_;  // that are read
  std::vector<bool> excluded_;        // by row; empty if few are
  const std::unique_ptr<LastLevel> last_;
  std::vector<Slot> slots_;
  std::atomic<bool> gave_up_{false};
};

}  // namespace glove::cpu
