// Which memory an address belongs to.
#pragma once

#include "state/operands.h"

namespace glove::verify {

// Where a thread accesses memory.
struct Place {
  enum Kind { kNumber, kRange } kind = kNumber;
  Space space = Space::kGlobal;
  SymbolId object = 0;  // of global memory
  Value address;        // an offset into the window, or the whole address of global memory
};

// The place as a key, which tells the two spaces apart.
GlobalPlace key_of(const Place& place);

// The bytes in a buffer of global memory.
MemorySpan span_of(const Place& place, unsigned bytes);

// Finds the places of addresses, and what is wrong with them.
class Places : private Part {
 public:
  explicit Places(const Part& run) : Part(run) {}

  // The buffer to which an address belongs: a pointer that is added once. 0: it is not known.
  SymbolId object_of(Value address);
  Place place_of(const BlockState& state, const Warp& warp, const Instruction& in, Value address, int lane);
  // Returns false for an access that cannot be there. It is a defect, which ends the path, if it is certain
  // to happen; where a condition that is not known decides, whether it happens is not proved.
  bool check_bounds(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                    bool certain);
  // The bytes that a lane may touch; of global memory, counted from the beginning of the object.
  Interval touched_bytes(const BlockState& state, const Warp& warp, int lane, SymbolId object, Value address,
                         unsigned bytes);
  // The value was converted to an address of global memory.
  void note_pointer(Value address);

 private:
  std::string outside(const Instruction& in, const Place& place) const;
};

}  // namespace glove::verify
