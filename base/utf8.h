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

// Returns text that every reader of UTF-8 accepts: each byte that belongs to no well-formed character becomes
// U+FFFD, and so does NUL, at which a reader of C strings would stop.
std::string printable_utf8(std::string_view bytes);

// Makes untrusted bytes safe for a message on a terminal. Returns well-formed UTF-8; each byte of a control
// character, or of a character that hides text or changes its direction, appears as \xNN. If there are more
// than `most` bytes, returns the first ones and "...".
std::string escaped(std::string_view bytes, size_t most = 64);

// A list of names from a file for a message: the first few, escaped, and the number of the others.
class ShortList {
 public:
  void add(std::string_view name);
  // "a, b, c and 17 more"
  std::string text() const;

 private:
  static constexpr size_t kMostShown = 10;
  std::string shown_;
  size_t count_ = 0;
};

// Returns the first `most` bytes, or fewer so that no character is split.
std::string_view utf8_prefix(std::string_view text, size_t most);

// Returns a value that a user gave as messages show it: 'value', and of a long one only the beginning,
// 'val...'. Every message that repeats such a value uses this, because a value may be a megabyte long.
std::string quoted_value(std::string_view value, size_t most = 200);

}  // namespace glove
