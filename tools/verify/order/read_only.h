// Memory that nobody writes: two loads from one place return the same.
#pragma once

#include "order/places.h"

namespace glove::verify {

// Takes every buffer for read-only until a thread writes there; then the run begins again.
class ReadOnlyMemory : private Part {
 public:
  explicit ReadOnlyMemory(const Part& run) : Part(run) {}

  // Whether nobody writes to a place in a buffer, as far as the run has seen.
  bool is_constant(const Place& place, unsigned bytes) const;
  // Remembers what was read as if nobody wrote there.
  void note_read(const Place& place, unsigned bytes);
  // Returns whether something was read there as if nobody wrote; from then on, everything in the buffer is
  // taken for written, so that the run does not begin again for each word.
  bool note_written(const Place& place, unsigned bytes);
  // The buffers that were read or written.
  std::set<SymbolId> buffers() const;

 private:
  std::unordered_set<SymbolId> read_objects_;
  std::unordered_set<SymbolId> read_anywhere_;
  std::unordered_set<GlobalPlace, GlobalPlaceHash> read_words_;
};

}  // namespace glove::verify
