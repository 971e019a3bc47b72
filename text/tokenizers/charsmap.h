// The table of SentencePiece's normalizer ("precompiled_charsmap").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/tokenizers/json.h"
#include "text/tokenizers/work.h"

namespace glove::tokenizers {

// A double-array trie of strings (in the format of darts-clone) and their replacements. Immutable.
class Charsmap {
 public:
  // Reads the base64 text of a charsmap.
  [[gnu::cold]] static Result<Charsmap> read(const JsonField& field);

  // Appends the normalized text. As in the reference, a grapheme cluster of fewer than 6 bytes is replaced as
  // a whole by the replacement of the shortest key that begins it, and otherwise each character is.
  void append_normalized(std::string_view text, std::string& out, TextWork& work) const;

 private:
  bool append_replacement(std::string_view key, std::string& out) const;

  std::vector<uint32_t> units_;
  std::string replacements_;    // each ends with NUL
  bool keeps_ascii_[128] = {};  // characters that no key begins with
};

}  // namespace glove::tokenizers
