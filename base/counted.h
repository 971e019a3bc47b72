// Numbers of things in messages: "1 row", "2 rows".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace glove {

// Returns the number and the noun, in the plural unless there is one. The plural must end in s.
inline std::string counted(int64_t count, std::string_view plural) {
  if (count == 1) plural.remove_suffix(1);
  return std::to_string(count) + " " + std::string(plural);
}

}  // namespace glove
