// The bound that makes an approximate scan certain (docs/exactness.md): what the integer product of a row's
// codes and a query's codes says about their similarity. For the host and the device; every scan uses it.
#pragma once

#if defined(__CUDACC__)
#define GLOVE_HOST_DEVICE __host__ __device__
#else
#define GLOVE_HOST_DEVICE
#endif

namespace glove {

// A query's part of the bound. With v = q/|q|, a scale S and codes Q[j] = round(S*v_j), let
// r_q = ||v - Q/S||. For a row with codes c, scale s and residual r, and sum = sum(c * Q),
//
//   estimate(sum, s) - error(r) <= similarity <= estimate(sum, s) + error(r)
//
// in any order of the float operations, fused or separate, all roundings included. SIMD kernels therefore
// write the same two expressions with vectors (cpu/kernels-inl.h). A zero row (r = +infinity) has the bounds
// -infinity and +infinity.
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
