// Products of matrices by tensor cores, computed by one warp: of int8 and of half.
#pragma once

#include <cstdint>

namespace glove::gpu {

// d += A * B, int8 x int8 -> int32, where A is 16 x 32 and B is 32 x 8. With g = l / 4 and t = l mod 4, lane
// l holds words of four components: a0 = row g and a1 = row g+8 from component 4t on, a2 and a3 = the same
// rows from component 16+4t on; b0 = column g from component 4t on, b1 = column g from component 16+4t on;
// d[0], d[1] = row g, columns 2t and 2t+1; d[2], d[3] = row g+8, the same columns.
__device__ inline void matrix_multiply_add(int (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                           uint32_t b0, uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#else
  const auto step = [](int& x, int& y, uint32_t a, uint32_t b) {
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+r"(x), "+r"(y)
                 : "r"(a), "r"(b));
  };
  step(d[0], d[1], a0, b0);
  step(d[0], d[1], a2, b1);
  step(d[2], d[3], a1, b0);
  step(d[2], d[3], a3, b1);
#endif
}

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

// Sets the sums of 32 rows with 32 columns, of which a lane has [rows 0, 8 or 16, 24][block of 8 columns][d].
template <class Sum>
__device__ inline void set_sums(Sum (&sums)[2][4][4], Sum value) {
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int block = 0; block < 4; ++block)
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[half][block][i] = value;
}

}  // namespace glove::gpu
