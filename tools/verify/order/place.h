// Where a thread accesses memory.
#pragma once

#include <cstdint>

#include "state/part.h"
#include "value/symbols.h"

namespace glove::verify {

struct Place {
  enum Kind { kNumber, kRange } kind = kNumber;
  Space space = Space::kGlobal;
  SymbolId object = 0;  // of global memory
  Value address = {};   // that of Windows; an offset into another window; or the whole of global memory
  uint32_t window = 0;  // of shared memory: a rank, or Window::kAny
};

// The place as a key, which tells the two spaces apart.
GlobalPlace key_of(const Place& place);

// The bytes in a buffer of global memory.
MemorySpan span_of(const Place& place, unsigned bytes);

}  // namespace glove::verify
