// Reductions across one full warp. All lanes must call them, and all lanes get the result.
#pragma once

#include <cstdint>

namespace glove::gpu {

constexpr unsigned kFullWarp = 0xffffffffu;

// Maps a float to an unsigned key with the same order. REQUIRES: not NaN.
__device__ inline uint32_t ordered_key(float value) {
  const uint32_t bits = __float_as_uint(value);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// The inverse of ordered_key().
__device__ inline float from_ordered_key(uint32_t key) {
  return __uint_as_float((key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key);
}

// Returns the largest value of the lanes.
__device__ inline float warp_max(float value) {
#if __CUDA_ARCH__ >= 800
  return from_ordered_key(__reduce_max_sync(kFullWarp, ordered_key(value)));
#else
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(kFullWarp, value, offset));
  return value;
#endif
}

// Returns the sum of the lanes' values; of numbers that round always in the same order.
template <class Number>
__device__ inline Number warp_sum(Number value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(kFullWarp, value, offset);
  return value;
}
__device__ inline uint32_t warp_sum(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kFullWarp, value);
#else
  return warp_sum<uint32_t>(value);
#endif
}

}  // namespace glove::gpu
