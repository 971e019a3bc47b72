// Finds a model's words faster than the binary search of Vocabulary, for texts of many words.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/vocabulary.h"

namespace glove {

// A hash table over a vocabulary. Immutable; any thread may read it. Holds ids only, so it does not keep the
// model alive, and every call takes the same vocabulary again.
class WordIndex {
 public:
  explicit WordIndex(const Vocabulary& vocabulary);

  // Returns what vocabulary.find_exact() returns. REQUIRES: the vocabulary that the index was made of.
  std::optional<int32_t> find(const Vocabulary& vocabulary, std::string_view word) const;

  // Memory that the index takes.
  int64_t bytes() const { return static_cast<int64_t>(slots_.size() * sizeof(Slot)); }

 private:
  struct Slot {
    uint32_t hash = 0;
    int32_t id = -1;  // -1: free
  };
  std::vector<Slot> slots_;  // a power of two, at least twice as many as words
};

}  // namespace glove
