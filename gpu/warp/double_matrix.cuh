// The tensor cores with operands and sums in double, used by one warp.
#pragma once

#include "gpu/tile.h"
#include "gpu/warp/reduce.cuh"

namespace glove::gpu {

// d += A * B, where A is 16 x 8 and B is 8 x 8. With g = l / 4 and t = l mod 4, lane l holds a[0], a[1] =
// rows g and g+8, column t of A; a[2], a[3] = the same rows, column t+4; b[0], b[1] = rows t and t+4, column
// g of B; d[0], d[1] = row g, columns 2t and 2t+1 of the sums; d[2], d[3] = row g+8, the same columns.
//
// Each sum gets its eight products one after the other, from column 0 of A on, and each addition rounds as
// fma() does. The tensor cores do so too (Xie et al., "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores
// and Matrix Cores", arXiv:2511.10909; tests compare every bit).
__device__ inline void double_multiply_add(double (&d)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
  for (int step = 0; step < 2; ++step)
#pragma unroll
    for (int upper = 0; upper < 2; ++upper) {
      double* const sums = d + 2 * upper;
      const double left = a[2 * step + upper];
#if __CUDA_ARCH__ >= 800
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(sums[0]), "+d"(sums[1])
                   : "d"(left), "d"(b[step]));
#else
      const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const double row = __shfl_sync(kFullWarp, left, lane / 4 * 4 + k);
        sums[0] = fma(row, __shfl_sync(kFullWarp, b[step], lane % 4 * 8 + k), sums[0]);
        sums[1] = fma(row, __shfl_sync(kFullWarp, b[step], lane % 4 * 8 + 4 + k), sums[1]);
      }
#endif
    }
#endif
}

}  // namespace glove::gpu
