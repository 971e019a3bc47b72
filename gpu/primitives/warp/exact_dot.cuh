// model/exact_dot.h on the device, bit for bit: eight lanes compute D(a, b), and one computes the cosine.
#pragma once

#include <cstdint>

#include "gpu/primitives/warp/reduce.cuh"
#include "model/metric.h"

namespace glove::gpu {

// Called by whole warps. Lanes 8i .. 8i+7 form a team that works on one row, and all eight get D(query, row).
// A team without a row passes row = nullptr and gets 0. kInFlight: components per lane that are loaded
// together; 40 load 300 dimensions in one round.
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
  // Each step adds the same two numbers in both lanes, so every lane gets ((p0+p4)+(p2+p6)) +
  // ((p1+p5)+(p3+p7)).
  sum += __shfl_xor_sync(kFullWarp, sum, 4);
  sum += __shfl_xor_sync(kFullWarp, sum, 2);
  sum += __shfl_xor_sync(kFullWarp, sum, 1);
  return sum;
}

// Same IEEE operations as glove::cosine_from_dots. Returns kNoSimilarity for a row that has no similarity.
__device__ inline double cosine_from_dots(double dot, double norm_squared_a, double norm_squared_b) {
  if (!(norm_squared_b > 0)) return kNoSimilarity;
  const double cosine = __ddiv_rn(dot, __dsqrt_rn(__dmul_rn(norm_squared_a, norm_squared_b)));
  return cosine > 1.0 ? 1.0 : cosine < -1.0 ? -1.0 : cosine == cosine ? cosine : kNoSimilarity;
}

}  // namespace glove::gpu
