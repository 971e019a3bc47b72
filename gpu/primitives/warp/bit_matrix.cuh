// Products of bits by the tensor cores, used by one warp. Only compute capability 8.0 and later have them;
// where they have no instruction of their own, the compiler puts others in its place.
#pragma once

#include <cstdint>

namespace glove::gpu {

// d += A * B, counting where both have a bit, where A is 16 x 256 bits and B is 256 x 8. With g = l / 4 and t
// = l mod 4, lane l holds words of 32 bits: a.x = row g and a.y = row g+8 from bit 32t on, a.z and a.w = the
// same rows from bit 128+32t on; b.x = column g from bit 32t on, b.y = column g from bit 128+32t on; d[0],
// d[1] = row g, columns 2t and 2t+1; d[2], d[3] = row g+8, the same columns.
__device__ inline void bit_multiply_add(int (&d)[4], uint4 a, uint2 b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
#endif
}

// The same for 128 bits: a.x and a.y, and b.x.
__device__ inline void bit_multiply_add(int (&d)[4], uint2 a, uint32_t b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a.x), "r"(a.y), "r"(b));
#endif
}

}  // namespace glove::gpu
