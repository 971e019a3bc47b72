// Products of matrices of doubles, computed by one warp.
#pragma once

#include "gpu/layout/tile.h"
#include "gpu/primitives/warp/reduce.cuh"

namespace glove::gpu {

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
