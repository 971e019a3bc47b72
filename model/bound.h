// The bound that makes an approximate scan exact (docs/exactness.md): what the integer product of a row's
// codes and a query's codes implies for their similarity. Every scan uses it, on the host and on the device.
#pragma once

#if defined(__CUDACC__)
#define GLOVE_HOST_DEVICE __host__ __device__
#else
#define GLOVE_HOST_DEVICE
#endif

namespace glove {

// A query's part of the bound. Let v = q/|q|, let S be a scale, let the codes be Q[j] = round(S*v_j), and let
// r_q = ||v - Q/S||. A row with codes c, scale s and residual r, with sum = sum(c * Q), satisfies
//
//   estimate(sum, s) - error(r) <= similarity <= estimate(sum, s) + error(r)
//
// with all roundings included, in any order of the float operations, fused or separate. SIMD kernels
// therefore evaluate the same two expressions with vectors (cpu/kernels/kernels-inl.h). A zero row (r =
// +infinity) has the bounds -infinity and +infinity.
struct QueryBound {
  float inverse_scale = 0;  // 1 / S
  float error_slope = 0;    // (1 + r_q) * (1 + 2^-20), rounded up
  float error_offset = 0;   // r_q + 2^-20, rounded up

  GLOVE_HOST_DEVICE float estimate(float sum, float row_scale) const {
    return sum * (row_scale * inverse_scale);
  }
  GLOVE_HOST_DEVICE float error(float row_residual) const {
    return row_residual * error_slope + error_offset;
  }
};

}  // namespace glove
