// Rounding of error bounds.
#pragma once

#include <bit>
#include <cstdint>

namespace glove {

// Returns the least float that is not below `value`. REQUIRES: value > 0 and finite.
inline float round_up_to_float(double value) {
  const float rounded = static_cast<float>(value);
  return static_cast<double>(rounded) < value ? std::bit_cast<float>(std::bit_cast<uint32_t>(rounded) + 1)
                                              : rounded;
}

}  // namespace glove
