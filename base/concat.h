// Text from pieces, such as the messages of errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.h"

namespace glove {

// Returns the pieces one after the other. Each is text, a char, or a number as std::to_string() writes it.
template <class... Pieces>
std::string concat(const Pieces&... pieces) {
  std::string text;
  const auto append = [&text]<class Piece>(const Piece& piece) {
    if constexpr (std::is_same_v<Piece, char>)
      text += piece;
    else if constexpr (std::is_arithmetic_v<Piece>)
      text += std::to_string(piece);
    else
      text += std::string_view(piece);
  };
  (append(pieces), ...);
  return text;
}

// Returns the number and the noun, in the plural unless there is one: "1 row", "2 rows". The plural must end
// in s.
inline std::string counted(int64_t count, std::string_view plural) {
  if (count == 1) plural.remove_suffix(1);
  return concat(count, ' ', plural);
}

// An error about an argument, with such a message.
template <class... Pieces>
Error invalid_argument(const Pieces&... pieces) {
  return {ErrorCode::kInvalidArgument, concat(pieces...)};
}

}  // namespace glove
