// The alphabet of byte-level encodings: each byte as a printable character, as GPT-2 spells it.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizers/work.h"

namespace glove::tokenizers {

// Appends each byte of `bytes` as its character.
void append_spelled(std::string_view bytes, std::string& out, TextWork& work);

}  // namespace glove::tokenizers
