// Bounds (model/bound.h) in a few bits: bins for lower bounds and codes for upper bounds, identical on the
// host and on the device.
#pragma once

#include <cstdint>

#include "model/bound.h"

namespace glove::gpu {

// Thresholds are found by counting lower bounds in bins of width 2^-11 over [-1, 1).
constexpr int kBins = 4096;
constexpr float kBinsPerUnit = 2048.0f;

// Returns the smallest lower bound that is counted in `bin`. Bin 0 takes everything below the second bin.
GLOVE_HOST_DEVICE inline float bin_floor(int bin) {
  return bin <= 0 ? -__builtin_inff() : static_cast<float>(bin) / kBinsPerUnit - 1.0f;
}

// bin_floor(bin_of(x)) <= x for every float x except NaN, and bin_of is monotone.
GLOVE_HOST_DEVICE inline int bin_of(float lower_bound) {
  if (!(lower_bound > -1.0f)) return 0;
  if (lower_bound >= 1.0f) return kBins - 1;
  int bin = static_cast<int>((lower_bound + 1.0f) * kBinsPerUnit);  // lower_bound + 1 may round up
  if (bin > kBins - 1) bin = kBins - 1;
  return bin_floor(bin) <= lower_bound ? bin : bin - 1;
}

// The bounds of a row whose codes are shifted. What is no number, as of a row that is too long, rules nothing
// out.
struct ShiftedBounds {
  float lower;
  float upper;
};
GLOVE_HOST_DEVICE inline ShiftedBounds shifted_bounds(const QueryBound& bound, const ShiftBound& shift,
                                                      float sum, float scale, float residual, float along,
                                                      float length) {
  float estimate = bound.estimate(sum, scale);
  float error = bound.error(residual);
  shift.add(along, length, estimate, error);
  const float upper = estimate + error;
  if (!(upper - upper == 0)) return {-__builtin_inff(), __builtin_inff()};
  return {estimate - error, upper};
}

// Upper bounds are stored in 16 bits, in steps of 2^-14. The code is monotone, so a row whose bound reaches
// the threshold has a code that reaches the threshold's code. Code 0 is never a candidate, whatever the
// threshold.
GLOVE_HOST_DEVICE inline uint16_t upper_code(float upper_bound) {
  if (!(upper_bound > -__builtin_inff())) return 0;
  const float steps = (upper_bound + 1.0f) * 16384.0f;
  if (!(steps > 0.0f)) return 1;
  return steps < 65533.0f ? static_cast<uint16_t>(static_cast<int>(steps) + 1) : 65534;
}

// Returns a number that is not below the smaller of 1 and any upper bound with this code, which is at most 3
// (similarities do not exceed 1). REQUIRES: code > 0.
GLOVE_HOST_DEVICE inline double upper_of_code(uint16_t code) {
  return code < 65534 ? code / 16384.0 - (1.0 - 0x1p-20) : 3.0;
}

// Returns the code that a row's upper_code() must reach. A threshold of -infinity admits every row except
// those with code 0.
GLOVE_HOST_DEVICE inline uint16_t threshold_code(float threshold) {
  const uint16_t code = upper_code(threshold);
  return code > 0 ? code : 1;
}

}  // namespace glove::gpu
