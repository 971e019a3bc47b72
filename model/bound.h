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

// The query's part of the bound of codes that are shifted (model/shifted_codes.h). A row with `along` a and
// `length` l, and otherwise as QueryBound says, has
//
//   estimate = sum * row_scale * inverse_scale + a * along - square * l^2 + base
//   error = residual * error_slope + error_offset + l * length_slope + l^2 * square_slope
struct ShiftBound {
  float along = 0;
  float square = 0;
  float base = 0;
  float length_slope = 0;
  float square_slope = 0;

  // Adds the terms of a row to its estimate and error.
  GLOVE_HOST_DEVICE void add(float row_along, float row_length, float& estimate, float& error) const {
    estimate += along * row_along - square * (row_length * row_length) + base;
    error += length_slope * row_length + square_slope * (row_length * row_length);
  }
};

}  // namespace glove
