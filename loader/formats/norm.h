// What the two formats with a norm before each vector share.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace glove {

// Whether the first number is the Euclidean length of the others, to the precision that people print.
inline bool begins_with_norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values.subspan(1)) sum += static_cast<double>(value) * static_cast<double>(value);
  const double norm = std::sqrt(sum);
  return std::fabs(static_cast<double>(values[0]) - norm) <= 1e-3 * norm;  // false for NaN
}

}  // namespace glove
