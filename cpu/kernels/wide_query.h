// A vector in the form that Kernels::exact_dots requires.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace glove::cpu {

// Returns `dims` rounded up to a multiple of eight.
constexpr size_t wide_size(int64_t dims) {
  return static_cast<size_t>((dims + 7) / 8 * 8);
}

// Returns the vector in double, padded with zeros to wide_size().
inline std::vector<double> widen(std::span<const float> vector) {
  std::vector<double> wide(vector.begin(), vector.end());
  wide.resize(wide_size(static_cast<int64_t>(vector.size())));
  return wide;
}

}  // namespace glove::cpu
