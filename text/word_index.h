// Finds a model's words faster than the binary search of Vocabulary, for texts of many words.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/vocabulary.h"
#include "model/word_set.h"

namespace glove {

// A hash table over a vocabulary. Immutable; any thread may read it. Holds ids only, so it does not keep the
// model alive, and every call takes the same vocabulary again.
class WordIndex {
 public:
  explicit WordIndex(const Vocabulary& vocabulary);

  // Returns what vocabulary.find_exact() returns. REQUIRES: the vocabulary that the index was made of, and
  // the WordSet::hash() of the word.
  std::optional<int32_t> find(const Vocabulary& vocabulary, std::string_view word, uint32_t hash) const;

  // Whether some word of the vocabulary may be this word of a text (its hash) and then `next`: an ASCII
  // character, or kNotAscii for any other. Sometimes true without one. kLead: whether some begins with that
  // one character of punctuation and then a letter or digit.
  static constexpr unsigned char kNotAscii = 0x80, kLead = 0;
  bool may_continue(uint32_t hash, unsigned char next) const {
    const uint32_t bit = bit_of(hash, next);
    return (longer_[bit / 64] >> bit % 64 & 1) != 0;
  }

  // Whether a word says so little alone, because it is one letter or has a digit, that a hyphen joins it with
  // its neighbour.
  static bool is_symbol(std::string_view word) {
    return word.size() == 1 || word.find_first_of("0123456789") != std::string_view::npos;
  }

  // Memory that the index takes.
  int64_t bytes() const {
    return static_cast<int64_t>(slots_.size() * sizeof(Slot) + longer_.size() * sizeof(uint64_t));
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    int32_t id = -1;  // -1: free
  };
  uint32_t bit_of(uint32_t hash, unsigned char next) const {
    return (hash + next * 0x9E3779B1u) & static_cast<uint32_t>(longer_.size() * 64 - 1);
  }
  void note_longer(const Vocabulary& vocabulary);

  std::vector<Slot> slots_;       // a power of two, at least twice as many as words
  std::vector<uint64_t> longer_;  // a bit for each hash and next character; a power of two
};

}  // namespace glove
