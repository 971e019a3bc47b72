// Races between blocks. Blocks run one after another, so their accesses are kept and compared at the end; two
// are ordered only through a grid barrier.
#pragma once

#include "order/grid_order.h"
#include "order/race_reports.h"

namespace glove::verify {

// Keeps what the blocks did to global memory.
class GridRaces : private Part {
 public:
  GridRaces(const Part& run, AccessLog& records, RaceReports& race_reports, GridOrder& grid, Places& places)
      : Part(run), records_(records), race_reports_(race_reports), grid_(grid), places_(places) {}

  // What the block did since the last full barrier, at the end of a phase and of a path.
  void keep(BlockState& state);
  // At the end of the run.
  void compare_blocks();

 private:
  void note_unfenced(BlockState& state);
  void keep_range(const RangeAccess& range);
  bool ordered(const AccessRecord& a, const AccessRecord& b);
  void compare_at(SymbolId object);

  AccessLog& records_;
  RaceReports& race_reports_;
  GridOrder& grid_;
  Places& places_;
  std::unordered_map<GlobalPlace, std::vector<AccessEntry>, GlobalPlaceHash> cells_;
  std::unordered_map<SymbolId, std::set<FormId>> forms_;
  std::unordered_map<SymbolId, std::vector<RangeAccess>> ranges_;
  std::unordered_multimap<uint64_t, std::pair<SymbolId, size_t>> known_;  // hashes of ranges_
};

}  // namespace glove::verify
