// The tensor cores with operands of 16 bits and sums in float, used by one warp.
#pragma once

#include <cstdint>

namespace glove::gpu {

// d += A * B, half x half -> float, where A is 16 x 16 and B is 16 x 8. With g = l / 4 and t = l mod 4, lane
// l holds words of two components: a0 = row g and a1 = row g+8 from component 2t on, a2 and a3 = the same
// rows from component 2t+8 on; b0 = column g from component 2t on, b1 = column g from component 2t+8 on;
// d[0], d[1] = row g, columns 2t and 2t+1; d[2], d[3] = row g+8, the same columns. The products are exact;
// each addition has at least the precision of a float that truncates.
__device__ inline void half_multiply_add(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                         uint32_t b0, uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#else
  const auto step = [&](uint32_t upper, uint32_t lower, uint32_t b) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(upper), "r"(lower), "r"(b));
  };
  step(a0, a1, b0);
  step(a2, a3, b1);
#endif
}

}  // namespace glove::gpu
