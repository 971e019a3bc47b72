// A query as the scan sees it: integer codes, and the constants of its error bound (docs/exactness.md).
#pragma once

#include <cstdint>
#include <vector>

#include "search/query.h"

namespace glove::cpu {

// With v = q/|q|: codes[j] = round(S*v_j), r_q = ||v - codes/S||. For a row with scale s, residual r and
// codes c,
//   estimate = s * inverse_scale * sum(c * codes)
//   error    = r * error_slope + error_offset
// and estimate - error <= similarity <= estimate + error, every float rounding included.
struct ScanQuery {
  std::vector<int16_t> codes;  // [groups * kTileComponents], zero past dims
  int32_t code_sum = 0;        // sum of codes
  float inverse_scale = 0;     // 1 / S
  float error_slope = 0;       // 1 + r_q, and a little
  float error_offset = 0;      // r_q, and a little
};

// max_code: the largest magnitude that a code may have, 1..32767. |sum(c * codes)| < 2^31 holds for every row
// of codes in [-128, 127].
// REQUIRES: norm_squared > 0, the float environment.
ScanQuery make_scan_query(const Query& query, int32_t max_code);

}  // namespace glove::cpu
