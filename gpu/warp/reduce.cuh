// Reductions by one full warp; every lane calls and every lane gets the result.
#pragma once

#include <cstdint>

namespace glove::gpu {

constexpr unsigned kFullWarp = 0xffffffffu;

// An unsigned key in the order of the floats; no NaN.
__device__ inline uint32_t ordered_key(float value) {
  const uint32_t bits = __float_as_uint(value);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

__device__ inline float from_ordered_key(uint32_t key) {
  return __uint_as_float((key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key);
}

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

__device__ inline uint32_t warp_sum(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kFullWarp, value);
#else
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(kFullWarp, value, offset);
  return value;
#endif
}

}  // namespace glove::gpu
