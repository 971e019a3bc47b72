// What is stored in shared or local memory, as far as it is known.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/shared_windows.h"
#include "value/symbols.h"

namespace glove::verify {

constexpr uint64_t kMostShared = 228 * 1024;  // bytes that a block can have

enum class Known : uint8_t {
  kNothingWritten,
  kValue,    // the slot holds `value`
  kUnknown,  // something: the first who reads names it
  kVaries,   // written under a condition or in a loop: each read may find something else
  kTail,     // the second half of the value before
  kCounted,  // a number that only atomic additions have changed since it was known; `value` holds its bounds
};

// Four bytes of memory.
struct Slot {
  Value value;  // of kCounted: the least number, and 2^32 times the greatest
  uint8_t bytes = 0;
  Known known = Known::kNothingWritten;
  uint8_t written = 0;  // its bytes that were written for certain; 16 times those of which `settle` says it
};

// The contents of one window of memory, or of one per block of a cluster, which grows as it is used.
class Contents {
 public:
  explicit Contents(Windows windows = {}) : windows_(windows) {}

  // Slots of four bytes. A write marks bytes as defined; reads tell whether anything has been written.
  Slot& at(uint64_t address) { return slot(static_cast<size_t>(windows_.compact(address) / 4)); }
  // The slot that has this place among slots(), or will have.
  Slot& slot(size_t index) {
    if (index >= slots_.size()) slots_.resize(index + 64);
    return slots_[index];
  }
  const std::vector<Slot>& slots() const { return slots_; }

  void write(uint64_t address, unsigned bytes, Value value, bool known);
  // After a write at an address that is not known. Returns false if nothing changed by it.
  bool blur(uint64_t from, uint64_t to);
  // After a write that may not have happened. Returns false if nothing changed by it.
  bool write_maybe(uint64_t address, unsigned bytes);
  // After an atomic addition to a number of four bytes, which may not have happened. Returns false, and
  // changes nothing, if the slot's number is not bounded.
  bool count(uint64_t address, uint64_t amount, const SymbolTable& table);
  // What varied stays as it is until it is written again, and what was counted has a value. Called when no
  // thread can still change what it has changed so far.
  void settle(SymbolTable& table);

  // Bytes were written for certain. ordered: whoever may read them without a race comes behind; otherwise
  // that is so from the next full barrier on.
  void define(uint64_t address, uint64_t bytes, bool ordered);
  // all_met: of the bytes that were written before, each is ordered with all that follows.
  void settle_defined(bool all_met);
  // Whether all bytes of [from, to), which are of one window, were written for certain.
  bool defined(uint64_t from, uint64_t to);
  // Whether all that was written here for certain was so in `other`.
  bool defined_within(const Contents& other) const;
  // Forgets that bytes were written which are not so in `other`.
  void keep_defined(const Contents& other);

 private:
  Windows windows_;
  std::vector<Slot> slots_;
  uint64_t whole_from_ = 0, whole_to_ = 0;  // the longest range that was seen to be defined
};

}  // namespace glove::verify
