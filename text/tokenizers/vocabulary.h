// The tokens of a model, by string and by id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizers/trie.h"

namespace glove::tokenizers {

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
