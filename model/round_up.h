// Rounding of error bounds.
#pragma once

#include <bit>
#include <cstdint>

#include "base/require.h"

namespace glove {

// Returns the least float that is not below `value`. REQUIRES: value > 0 and finite.
inline float round_up_to_float(double value) {
  GLOVE_REQUIRE(value > 0);
  const float rounded = static_cast<float>(value);
  return static_cast<double>(rounded) < value ? std::bit_cast<float>(std::bit_cast<uint32_t>(rounded) + 1)
                                              : rounded;
}

// Returns the residual to store for a computed distance between a unit vector and its codes: more than the
// distance by more than the rounding of the sums that computed it (docs/exactness.md). REQUIRES: as above,
// but zero is allowed.
inline float residual_of_distance(double distance) {
  constexpr double kRelativeSlack = 0x1p-40;
  constexpr double kAbsoluteSlack = 0x1p-40;
  return round_up_to_float(distance * (1.0 + kRelativeSlack) + kAbsoluteSlack);
}

}  // namespace glove
