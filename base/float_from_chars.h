// std::from_chars for float and double, also where the C++ library reads only integers (libc++ before 20).
#pragma once

#include <charconv>
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

}  // namespace glove
