// Products of matrices, computed by one warp: of int8 and of half by tensor cores, of double also without.
#pragma once

#include <cstdint>

#include "gpu/layout/tile.h"
#include "gpu/primitives/warp/reduce.cuh"

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

// The part of d += A * B that a lane has, where A is 16 x 8 and B is 8 x 8. With g = l / 4 and t = l mod 4,
// lane l holds a[0], a[1] = rows g and g+8, column t of A; a[2], a[3] = the same rows, column t+4; b[0], b[1]
// = rows t and t+4, column g of B; d[0], d[1] = row g, columns 2t and 2t+1 of the sums; d[2], d[3] = row g+8,
// the same columns. Each sum gets its eight products one after the other, from column 0 of A on, and each
// addition rounds as fma() does.
__device__ inline void multiply_with_fma(double (&d)[4], const double (&a)[4], const double (&b)[2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const int from = lane / 4 * 4 + k % 4;
    const double upper = __shfl_sync(kFullWarp, a[k / 4 * 2], from);
    const double lower = __shfl_sync(kFullWarp, a[k / 4 * 2 + 1], from);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const double right = __shfl_sync(kFullWarp, b[k / 4], lane % 4 * 8 + 4 * i + k % 4);
      d[i] = fma(upper, right, d[i]);
      d[2 + i] = fma(lower, right, d[2 + i]);
    }
  }
}

// The same by tensor cores, if the device has some for doubles. In which order they add is not documented. It
// has been measured (Xie et al., "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores",
// arXiv:2511.10909) and is that of multiply_with_fma(); callers check it (launch_check_products() in
// gpu/kernels/moments.h).
__device__ inline void multiply_with_tensor_cores(double (&d)[4], const double (&a)[4],
                                                  const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
  for (int i = 0; i < 4; ++i)  // of A, half of the rows and half of the columns
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[i % 2 * 2]), "+d"(d[i % 2 * 2 + 1])
                 : "d"(a[i]), "d"(b[i / 2]));
#else
  multiply_with_fma(d, a, b);
#endif
}

}  // namespace glove::gpu
