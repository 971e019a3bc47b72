// The tokens of a model, by string and by id, and the map from byte strings to numbers that finds them and
// the added tokens, walked byte by byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace glove::tokenizers {

// Sorts as std::stable_sort(). If the poll stops, the order is unspecified.
template <class T, class Less>
void sort_polled(std::vector<T>& values, InterruptPoll& poll, const Less& less) {
  struct Interrupted {};
  uint32_t count = 0;
  try {
    std::stable_sort(values.begin(), values.end(), [&](const T& left, const T& right) {
      if ((++count & 0xfff) == 0 && poll.stop()) throw Interrupted();
      return less(left, right);
    });
  } catch (const Interrupted&) {
  }
}

// A double-array trie: the child of node n for a byte is node bases[n] ^ byte, if that one's parent is n.
// Immutable.
class Trie {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kRoot = 0;

  using Entry = std::pair<std::string_view, uint32_t>;

  // No keys.
  Trie();
  // Of equal keys, the first has the value. If the poll stops, keys are missing. REQUIRES: no value is kNone.
  Trie(std::vector<Entry> entries, InterruptPoll& poll);

  // Moves from a node to its child. Returns false if there is none.
  bool step(uint32_t& node, unsigned char byte) const {
    const uint32_t next = nodes_[node].base ^ byte;
    if (nodes_[next].parent != node) return false;
    node = next;
    return true;
  }
  // Moves along a whole string.
  bool walk(uint32_t& node, std::string_view bytes) const {
    for (const char byte : bytes) {
      if (!step(node, static_cast<unsigned char>(byte))) return false;
    }
    return true;
  }
  // The value of the key that ends at a node, or kNone.
  uint32_t value(uint32_t node) const { return nodes_[node].value; }

  uint32_t find(std::string_view key) const {
    uint32_t node = kRoot;
    return walk(node, key) ? value(node) : kNone;
  }

 private:
  friend class TrieBuilder;
  struct Node {
    uint32_t base = 0;
    uint32_t parent = kNone;
    uint32_t value = kNone;
  };
  std::vector<Node> nodes_;
};

// Immutable. Ids need not be dense: a hole costs nothing.
class TokenVocabulary {
 public:
  TokenVocabulary() = default;
  // Of equal tokens, the first counts. Of equal ids, token() returns the first. REQUIRES: no id is
  // Trie::kNone. If the poll stops, tokens are missing.
  TokenVocabulary(std::vector<std::pair<std::string, uint32_t>> tokens, InterruptPoll& poll);
  TokenVocabulary(TokenVocabulary&&) = default;
  TokenVocabulary& operator=(TokenVocabulary&&) = default;

  // The number of tokens, and the largest id + 1.
  size_t count() const { return tokens_.size(); }
  size_t id_limit() const { return tokens_.empty() ? 0 : size_t{tokens_.back().second} + 1; }

  // Without data, and not only empty, if there is none.
  std::string_view token(uint32_t id) const;
  std::optional<uint32_t> find(std::string_view token) const {
    const uint32_t id = trie_.find(token);
    return id == Trie::kNone ? std::nullopt : std::optional(id);
  }
  // The tokens, with their ids as values.
  const Trie& trie() const { return trie_; }

 private:
  std::vector<std::pair<std::string, uint32_t>> tokens_;  // in rising order of ids
  Trie trie_;
};

}  // namespace glove::tokenizers
