// The fast_float library behind the interface of std::from_chars.
#pragma once

#include <fast_float/fast_float.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace glove {

// Like std::from_chars(begin, end, value) with std::chars_format::general: correctly rounded, independent of
// the locale. If the number is outside the range of Float, the error is result_out_of_range, and `value`,
// which std::from_chars leaves alone, becomes a zero or an infinity. REQUIRES: Float is float or double; the
// float environment.
template <class Float>
std::from_chars_result fast_float_from_chars(const char* begin, const char* end, Float& value) {
  const auto [rest, error] = fast_float::from_chars(begin, end, value);
  if (error != std::errc() || (value != 0 && !std::isinf(value))) return {rest, error};
  // fast_float reports a magnitude outside the range as a zero or an infinity. Such a text has a digit from 1
  // to 9 before its exponent; the texts of zero and "inf" have none.
  const char* const mantissa_end = std::find_if(begin, rest, [](char c) { return c == 'e' || c == 'E'; });
  const bool out_of_range = std::any_of(begin, mantissa_end, [](char c) { return c >= '1' && c <= '9'; });
  return {rest, out_of_range ? std::errc::result_out_of_range : std::errc()};
}

}  // namespace glove
