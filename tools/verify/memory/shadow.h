// The accesses of a block that nothing has ordered yet.
#pragma once

#include <iterator>
#include <unordered_map>
#include <vector>

#include "memory/access.h"

namespace glove::verify {

// Bytes that are always accessed together, and who did so since the last full barrier.
struct Cell {
  uint32_t phase = 0;
  bool has_flight = false;  // it is in Shadow::flights
  std::vector<AccessEntry> entries;
};

// A place in global memory: a linear form, and bytes from there in units of the granule.
struct GlobalPlace {
  FormId form;
  uint64_t granule;
  bool operator==(const GlobalPlace&) const = default;
};
// For unordered containers.
struct GlobalPlaceHash {
  size_t operator()(const GlobalPlace& place) const {
    return (place.granule * 0x9e3779b97f4a7c15u) ^ (uint64_t{place.form} << 32 | place.form);
  }
};

// Cells of exact accesses and the list of those whose addresses hold unknowns.
struct Shadow {
  uint32_t phase = 1;
  std::vector<Cell> shared;
  std::unordered_map<GlobalPlace, Cell, GlobalPlaceHash> global;
  std::unordered_map<SymbolId, std::vector<FormId>> forms;  // by object: forms with exact cells
  std::vector<RangeAccess> ranges;
  std::vector<size_t> flights;  // granules of shared memory whose cells may hold what outlasts a phase

  // After a full barrier: all that came before is ordered with all that follows, but for what goes on beside
  // the threads. keep(record, lanes, epochs, by_lane) returns the lanes of an access that still matter, and
  // may change its record and epochs; `epochs` points to one for all lanes or, with `by_lane`, to 32.
  template <class Keep>
  void new_phase(Keep keep) {
    const auto keep_entries = [&](std::vector<AccessEntry>& entries) {
      std::erase_if(entries, [&](AccessEntry& entry) {
        return (entry.lanes = keep(entry.record, entry.lanes, &entry.epoch, false)) == 0;
      });
      return !entries.empty();
    };
    std::erase_if(flights, [&](size_t granule) {
      Cell& cell = shared[granule];
      if (cell.phase != phase || !keep_entries(cell.entries)) return true;
      cell.phase = phase + 1;
      return false;
    });
    ++phase;
    for (auto place = global.begin(); place != global.end();)
      place = keep_entries(place->second.entries) ? std::next(place) : global.erase(place);
    if (global.empty()) forms.clear();
    std::erase_if(ranges, [&](RangeAccess& range) {
      return (range.lanes = keep(range.record, range.lanes, range.epoch.data(), true)) == 0;
    });
  }
};

}  // namespace glove::verify
