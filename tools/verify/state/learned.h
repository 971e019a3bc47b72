// What a run that begins again keeps: what it has been wrong about, and the names of values. All else is made
// anew.
#pragma once

#include <map>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "memory/shadow.h"

namespace glove::verify {

// How much was done, in all attempts.
struct Effort {
  size_t paths = 0;
  size_t steps = 0;            // warp instructions
  std::vector<bool> executed;  // instructions
};

// Owned by the caller of the attempts; each attempt changes it.
struct Learned {
  SymbolTable table;
  Effort effort;
  // Buffers that some thread writes; at addresses that are not known, and words of four bytes.
  std::unordered_set<SymbolId> written_objects, written_anywhere;
  std::unordered_set<GlobalPlace, GlobalPlaceHash> written_words;
  bool writes_unknown = false;
  std::unordered_set<SymbolId> pointers;  // that were converted to global addresses
  // Where the results of additions may repeat; of objects, 0: shared memory.
  std::unordered_set<GlobalPlace, GlobalPlaceHash> tickets_spoiled;
  std::unordered_set<SymbolId> ticket_objects_spoiled;
  // What plain stores write: places, and objects at places that are not known.
  std::unordered_set<GlobalPlace, GlobalPlaceHash> plainly_written;
  std::unordered_set<SymbolId> somewhere_written;
  std::map<std::pair<SymbolId, uint64_t>, uint64_t> distinct_samples;  // by object and offset
  uint32_t next_location = 1;  // symbols of an attempt before have named those below
};

}  // namespace glove::verify
