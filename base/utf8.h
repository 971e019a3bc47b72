// The UTF-8 operations that words need.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glove {

// U+FFFD, which replaces bytes that are not valid UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

// Whether the bytes are well-formed UTF-8 (no overlong forms, surrogates, or code points past 10FFFF).
bool is_valid_utf8(std::string_view bytes);

// Returns the length of the character at the front of the bytes, or 0 if no well-formed one stands there.
size_t utf8_character_length(std::string_view bytes);

// Returns the code point of a character. REQUIRES: it is well-formed, and nothing else is in the view.
char32_t utf8_code_point(std::string_view character);

// Writes a code point as UTF-8, and returns how many bytes that takes: 1 to 4.
inline size_t write_utf8(char32_t code, char* out) {
  const size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; --i, code >>= 6) out[i] = static_cast<char>(0x80 | (code & 0x3F));
  out[0] = static_cast<char>(length == 1 ? code : (0xF00u >> length & 0xFFu) | code);
  return length;
}

// Returns text that every reader of UTF-8 accepts: each byte that belongs to no well-formed character becomes
// U+FFFD, and so does NUL, at which a reader of C strings would stop.
std::string printable_utf8(std::string_view bytes);

// Returns the first `most` bytes, or fewer so that no character is split.
std::string_view utf8_prefix(std::string_view text, size_t most);

}  // namespace glove
