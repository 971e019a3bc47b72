// UTF-8, as far as words need it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glove {

// U+FFFD, which stands for bytes that are no UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

// Whether the bytes are well-formed UTF-8 (no overlong forms, surrogates, or code points past 10FFFF).
bool is_valid_utf8(std::string_view bytes);

// The bytes as text that every reader of UTF-8 takes: one that belongs to no well-formed character becomes
// U+FFFD, and so does NUL, where a reader of C strings would stop.
std::string printable_utf8(std::string_view bytes);

// Bytes that somebody else wrote, as a message may show them on a terminal: well-formed UTF-8 without control
// characters and without those that hide text or change its direction, which stand there as \xNN for each
// byte. Of more than `most` bytes the first, and "...".
std::string escaped(std::string_view bytes, size_t most = 64);

// Names from a file for a message: the first few, escaped, and how many more there are.
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

// The first `most` bytes, or fewer, so that no character is cut.
std::string_view utf8_prefix(std::string_view text, size_t most);

}  // namespace glove
