// The accesses of a block that nothing has ordered yet.
#pragma once

#include <unordered_map>
#include <vector>

#include "verify/memory/access.h"

namespace glove::verify {

// Bytes that are always accessed together, and who did so since the last full barrier.
struct Cell {
  uint32_t phase = 0;
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

  // After a full barrier: all that came before is ordered with all that follows.
  void new_phase() {
    ++phase;
    global.clear();
    forms.clear();
    ranges.clear();
  }
};

}  // namespace glove::verify
