// A query as a scan of the int8 row codes sees it: integer codes, and the constants of the error bound that
// makes the scan certain (docs/exactness.md). Shared by all backends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/quantize.h"

namespace glove {

// With v = q/|q| and a scale S: codes[j] = round(S*v_j), r_q = ||v - codes/S||. For a row with codes c, scale
// s and residual r,
//   estimate = s * inverse_scale * sum(c * codes)
//   error    = r * error_slope + error_offset
// and estimate - error <= similarity <= estimate + error, in any order of these float operations, fused or
// separate, all roundings included. A zero row (r = +infinity) has the bounds -infinity and +infinity.
struct QuantizedQuery {
  std::vector<int16_t> codes;  // [component_groups(dims) * kTileComponents], zero past dims
  int32_t code_sum = 0;        // sum of codes
  double scale = 0;            // S
  float inverse_scale = 0;     // 1 / S
  float error_slope = 0;       // (1 + r_q) * (1 + 2^-20), rounded up
  float error_offset = 0;      // r_q + 2^-20, rounded up

  float estimate(float row_scale, int32_t sum) const {
    return row_scale * inverse_scale * static_cast<float>(sum);
  }
  float error(float row_residual) const { return row_residual * error_slope + error_offset; }
};

// max_code: the largest magnitude that a code may have, 1..32767. |sum(c * codes)| < 2^31 for all row codes
// in
// [-128, 127], so an int32 sum cannot overflow, whatever a file holds.
// REQUIRES: every component of `vector` is finite, norm_squared = D(vector, vector) > 0, the float
// environment.
QuantizedQuery quantize_query(std::span<const float> vector, double norm_squared, int32_t max_code);

}  // namespace glove
