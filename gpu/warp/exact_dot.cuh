// D(a, b) of loader/exact_dot.h by eight lanes, bit for bit.
#pragma once

#include <cstdint>

#include "gpu/warp/reduce.cuh"

namespace glove::cuda {

// Called by whole warps; lanes 8i .. 8i+7 work on one row and all eight get D(query, row). A team without a
// row passes row = nullptr and gets 0.
// kInFlight: components of a lane that wait for memory together; 40 are one round for 300 dimensions.
//   query  [dims], any memory;  row  [dims], global memory
template <int kInFlight = 20>
__device__ inline double team_exact_dot(const float* query, const float* row, int dims, int lane) {
  double sum = 0.0;
  if (row != nullptr) {
    for (int base = lane & 7; base < dims; base += 8 * kInFlight) {
      float x[kInFlight];
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) x[i] = base + 8 * i < dims ? __ldg(row + base + 8 * i) : 0.0f;
#pragma unroll
      for (int i = 0; i < kInFlight; ++i)
        if (base + 8 * i < dims)
          sum = fma(static_cast<double>(query[base + 8 * i]), static_cast<double>(x[i]), sum);
    }
  }
  // Each step adds the same two numbers in both lanes, so ((p0+p4)+(p2+p6)) + ((p1+p5)+(p3+p7)) comes out in
  // all.
  sum += __shfl_xor_sync(kFullWarp, sum, 4);
  sum += __shfl_xor_sync(kFullWarp, sum, 2);
  sum += __shfl_xor_sync(kFullWarp, sum, 1);
  return sum;
}

}  // namespace glove::cuda
