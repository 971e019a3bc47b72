// UTF-8, as far as words need it.
#pragma once

#include <string_view>

namespace glove {

// Whether the bytes are well-formed UTF-8 (no overlong forms, surrogates, or code points past 10FFFF).
bool is_valid_utf8(std::string_view bytes);

}  // namespace glove
