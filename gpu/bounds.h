// Bounds (model/bound.h) in few bits: bins of lower bounds and codes of upper bounds, the same on the host
// and on the device.
#pragma once

#include <cstdint>

#include "model/bound.h"

namespace glove::gpu {

// Thresholds are found by counting lower bounds in bins of width 2^-11 over [-1, 1).
constexpr int kBins = 4096;
constexpr float kBinsPerUnit = 2048.0f;

// The smallest lower bound that counts in `bin`: bin 0 takes everything below the second bin.
GLOVE_HOST_DEVICE inline float bin_floor(int bin) {
  return bin <= 0 ? -__builtin_inff() : static_cast<float>(bin) / kBinsPerUnit - 1.0f;
}

// bin_floor(bin_of(x)) <= x for every float x but NaN, and bin_of is monotone.
GLOVE_HOST_DEVICE inline int bin_of(float lower_bound) {
  if (!(lower_bound > -1.0f)) return 0;
  if (lower_bound >= 1.0f) return kBins - 1;
  int bin = static_cast<int>((lower_bound + 1.0f) * kBinsPerUnit);  // lower_bound + 1 may round up
  if (bin > kBins - 1) bin = kBins - 1;
  return bin_floor(bin) <= lower_bound ? bin : bin - 1;
}

// Upper bounds are kept in 16 bits, in steps of 2^-14: monotone, so that a row whose bound reaches the
// threshold has a code that reaches the threshold's. Code 0 is no candidate whatever the threshold.
GLOVE_HOST_DEVICE inline uint16_t upper_code(float upper_bound) {
  if (!(upper_bound > -__builtin_inff())) return 0;
  const float steps = (upper_bound + 1.0f) * 16384.0f;
  if (!(steps > 0.0f)) return 1;
  return steps < 65533.0f ? static_cast<uint16_t>(static_cast<int>(steps) + 1) : 65534;
}

// What upper_code() of a row must reach; a threshold of -infinity lets every row pass but those that never
// do.
GLOVE_HOST_DEVICE inline uint16_t threshold_code(float threshold) {
  const uint16_t code = upper_code(threshold);
  return code > 0 ? code : 1;
}

}  // namespace glove::gpu
