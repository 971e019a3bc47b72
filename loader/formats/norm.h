// Shared by the two formats with a norm before each vector.
#pragma once

#include <cmath>
#include <span>

namespace glove {

// Returns true if `number` is the square root of `sum`, to the precision that people print. False for NaN.
inline bool is_norm(float number, double sum) {
  const double norm = std::sqrt(sum);
  return std::fabs(static_cast<double>(number) - norm) <= 1e-3 * norm;
}

// Returns true if the first number is the Euclidean length of the others.
inline bool begins_with_norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values.subspan(1)) sum += static_cast<double>(value) * static_cast<double>(value);
  return is_norm(values[0], sum);
}

}  // namespace glove
