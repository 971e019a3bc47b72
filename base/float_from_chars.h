// std::from_chars for float and double, also where the C++ library reads only integers (libc++ before 20).
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <version>

#ifndef __cpp_lib_to_chars
#include "base/fast_float_from_chars.h"
#endif

namespace glove {

using std::from_chars;
#ifndef __cpp_lib_to_chars
inline std::from_chars_result from_chars(const char* begin, const char* end, float& value) {
  return fast_float_from_chars(begin, end, value);
}
inline std::from_chars_result from_chars(const char* begin, const char* end, double& value) {
  return fast_float_from_chars(begin, end, value);
}
#endif

// Returns the number that a text is, as from_chars() reads it; nullopt if more stands there, or less, or T
// cannot hold the number.
template <class T>
std::optional<T> number_from(std::string_view text) {
  T value{};
  const auto [end, error] = from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace glove
