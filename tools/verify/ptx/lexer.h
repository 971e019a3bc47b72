// Splits PTX into tokens. Never fails: a character that PTX does not have becomes a token of its own.
#pragma once

#include <string_view>
#include <vector>

namespace glove::verify {

struct PtxToken {
  enum Kind : unsigned char { kWord, kNumber, kString, kPunctuation, kEnd };
  Kind kind = kEnd;
  std::string_view text;  // into the source; a string's without its quotes
  int line = 0;
};

// The last token is kEnd. REQUIRES: `source` outlives the tokens.
std::vector<PtxToken> tokenize(std::string_view source);

}  // namespace glove::verify
