// A query in the form that Kernels::exact_dots requires.
#pragma once

#include <span>
#include <vector>

namespace glove::cpu {

// Returns the vector in double, padded with zeros to a multiple of eight.
inline std::vector<double> widen(std::span<const float> vector) {
  std::vector<double> wide(vector.begin(), vector.end());
  wide.resize((wide.size() + 7) / 8 * 8);
  return wide;
}

}  // namespace glove::cpu
