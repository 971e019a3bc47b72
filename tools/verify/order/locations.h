// Names of places in memory that atomics change.
#pragma once

#include <optional>

#include "order/places.h"

namespace glove::verify {

// Numbers places; a plain store to one makes the next number name it.
class Locations : private Part {
 public:
  Locations(const Part& run, Places& places) : Part(run), places_(places) {}

  uint32_t number(const Place& place);
  // The number of a place that has one.
  std::optional<uint32_t> known_number(const Place& place) const;
  // The bytes that a number has named; none where it has named nothing.
  MemorySpan span(uint32_t number) const;
  // After a plain store of some bytes; range: where in shared memory, if the place is not known.
  void forget(const Place& place, unsigned bytes, const BlockState& state, const Warp& warp, int lane);

 private:
  Places& places_;
  std::unordered_map<GlobalPlace, uint32_t, GlobalPlaceHash> numbers_;
  std::unordered_map<uint32_t, MemorySpan> spans_;  // by number
  std::unordered_set<SymbolId> objects_;            // with such places; 0: shared memory
};

}  // namespace glove::verify
