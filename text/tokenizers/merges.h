// The merges of a byte-pair encoding: which pairs of tokens become one, and in which order.
#pragma once

#include <cstdint>
#include <vector>

#include "text/tokenizers/vocabulary.h"

namespace glove::tokenizers {

// A hash table with open addressing. Immutable after the last add().
class Merges {
 public:
  struct Merge {
    uint32_t rank = Trie::kNone;  // kNone: the pair is not merged
    uint32_t id = 0;              // of the merged token
  };

  Merges() : slots_(2) {}
  explicit Merges(size_t count);

  // A later rank of the same pair replaces the earlier one. REQUIRES: at most as many merges as the
  // constructor was told.
  void add(uint32_t left, uint32_t right, Merge merge);

  Merge find(uint32_t left, uint32_t right) const {
    const uint64_t key = uint64_t{left} << 32 | right;
    for (size_t slot = hash(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].merge.rank == Trie::kNone || slots_[slot].key == key) return slots_[slot].merge;
    }
  }

 private:
  struct Slot {
    uint64_t key = 0;
    Merge merge;
  };
  size_t hash(uint64_t key) const { return (key * 0x9e3779b97f4a7c15u >> 20) & (slots_.size() - 1); }

  std::vector<Slot> slots_;  // a power of two of them, at least half of them empty
};

}  // namespace glove::tokenizers
