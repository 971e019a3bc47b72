// The tokens "<0x00>" to "<0xFF>", which stand for text that a vocabulary does not have otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizers/vocabulary.h"
#include "text/tokenizers/work.h"

namespace glove::tokenizers {

class ByteTokens {
 public:
  // None.
  ByteTokens() { ids_.fill(Trie::kNone); }
  explicit ByteTokens(const TokenVocabulary& vocabulary) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    for (size_t byte = 0; byte < ids_.size(); ++byte) {
      const char token[] = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
      ids_[byte] = vocabulary.trie().find({token, sizeof(token)});
    }
  }

  uint32_t id(char byte) const { return ids_[static_cast<unsigned char>(byte)]; }

  // Whether each byte of a text has a token.
  bool have(std::string_view text) const {
    for (const char byte : text) {
      if (id(byte) == Trie::kNone) return false;
    }
    return true;
  }

  // Appends the ids of the bytes of a text in reverse order. Returns false, and appends nothing, if a byte
  // has none.
  bool append_reversed(std::string_view text, TextWork& work, std::vector<uint32_t>& ids) const {
    const size_t first = ids.size();
    for (size_t i = text.size(); i-- > 0 && !work.stop();) {
      ids.push_back(id(text[i]));
      if (ids.back() != Trie::kNone) continue;
      ids.resize(first);
      return false;
    }
    return true;
  }

 private:
  std::array<uint32_t, 256> ids_;
};

}  // namespace glove::tokenizers
