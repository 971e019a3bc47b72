// Text from pieces, such as the messages of errors, and values as messages show them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.h"

namespace glove {

// A piece of a text, which it does not own: text, a char, or a number, which is written as by
// std::to_string().
class TextPiece {
 public:
  template <class Value>
  explicit TextPiece(const Value& value) {
    if constexpr (std::is_same_v<Value, char>) {
      text_ = &value;
      size_ = 1;
    } else if constexpr (std::is_floating_point_v<Value>) {
      real_ = value;
      size_ = kReal;
    } else if constexpr (std::is_arithmetic_v<Value> && std::is_signed_v<Value>) {
      integer_ = value;
      size_ = kInteger;
    } else if constexpr (std::is_arithmetic_v<Value>) {
      natural_ = value;
      size_ = kNatural;
    } else {
      const std::string_view text(value);
      text_ = text.data();
      size_ = text.size();
    }
  }

  void append_to(std::string& text) const;

 private:
  // In the place of a size: no text is as long.
  static constexpr size_t kReal = SIZE_MAX, kInteger = SIZE_MAX - 1, kNatural = SIZE_MAX - 2;

  union {
    const char* text_;
    double real_;
    int64_t integer_;
    uint64_t natural_;
  };
  size_t size_;
};

// concat(), out of line.
[[gnu::cold]] std::string concat_pieces(std::span<const TextPiece> pieces);
// The same for make_error().
[[gnu::cold]] Error error_of_pieces(ErrorCode code, std::span<const TextPiece> pieces);

// Returns the pieces one after the other.
template <class... Pieces>
std::string concat(const Pieces&... pieces) {
  const TextPiece list[] = {TextPiece(pieces)...};
  return concat_pieces(list);
}

// Returns the number and the noun, in the plural unless there is one: "1 row", "2 rows". The plural must end
// in s.
std::string counted(int64_t count, std::string_view plural);

// An error with such a message.
template <class... Pieces>
Error make_error(ErrorCode code, const Pieces&... pieces) {
  const TextPiece list[] = {TextPiece(pieces)...};
  return error_of_pieces(code, list);
}

// The same about an argument.
template <class... Pieces>
Error invalid_argument(const Pieces&... pieces) {
  return make_error(ErrorCode::kInvalidArgument, pieces...);
}

// Returns an error about the content of the file `path`, with which the message begins.
template <class... Pieces>
Error corrupt_file(std::string_view path, const Pieces&... pieces) {
  return make_error(ErrorCode::kCorrupt, path, ": ", pieces...);
}

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

// Returns a value that a user gave as messages show it: 'value', and of a long one only the beginning,
// 'val...'. Every message that repeats such a value uses this, because a value may be a megabyte long.
std::string quoted_value(std::string_view value, size_t most = 200);

}  // namespace glove
