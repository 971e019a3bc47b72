// Distinct words in the order of their insertion, from which a model's vocabulary is made, and the sorted
// order of words.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace glove {

// Returns the ids of the words that a Vocabulary would have (word_bytes, word_offsets[n + 1]), in the memcmp
// order of their words, with equal words ordered by id. Sorts on up to `threads` threads (0 = the cores that
// this process may use). The offsets may be damaged: an impossible word counts as empty.
Result<std::vector<int32_t>> sorted_word_ids(std::span<const char> word_bytes,
                                             std::span<const int64_t> word_offsets, int threads,
                                             const InterruptCheck& interrupted = {});

// Owns the words' bytes and a hash table over them. One thread at a time may use it.
class WordSet {
 public:
  WordSet() : offsets_{0} {}

  // Returns a word's hash for insert() and prefetch(). It can be computed in advance, on another thread.
  static uint32_t hash(std::string_view word);

  // Returns true if the word was new; its id is then size() - 1.
  bool insert(std::string_view word, uint32_t hash);
  bool insert(std::string_view word) { return insert(word, hash(word)); }
  // Adds a word that may be empty or present already, and gets an id of its own. REQUIRES: insert() and
  // contains() are not called.
  void append(std::string_view word);
  bool contains(std::string_view word) const;
  // Prefetches what insert() reads first for this hash. Call it a few words in advance.
  void prefetch(uint32_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }
  // Reserves memory for this many words.
  void reserve(int64_t words);
  // Frees the hash table, which takes 16 to 32 bytes per word. REQUIRES: no insert(), contains() or
  // prefetch() afterwards.
  void drop_index() { std::vector<Slot>().swap(slots_); }
  int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  std::string_view word(int64_t id) const {
    const auto begin = static_cast<size_t>(offsets_[static_cast<size_t>(id)]);
    return {bytes_.data() + begin, static_cast<size_t>(offsets_[static_cast<size_t>(id) + 1]) - begin};
  }

  std::span<const char> bytes() const { return bytes_; }
  std::span<const int64_t> offsets() const { return offsets_; }  // [size() + 1]

  // Returns the ids in the memcmp order of their words. `threads` = 0 means all usable cores.
  Result<std::vector<int32_t>> sorted_ids(int threads = 0, const InterruptCheck& interrupted = {}) const;

 private:
  struct Slot {
    uint32_t hash = 0;
    int32_t id = -1;
  };
  size_t find_slot(std::string_view word, uint32_t hash) const;
  void rehash(size_t slots);

  std::vector<char> bytes_;
  std::vector<int64_t> offsets_;
  std::vector<Slot> slots_;  // size is a power of two, at most half of it used; linear probing
};

}  // namespace glove
