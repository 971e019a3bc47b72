// A query in the form in which a scan uses it: integer codes, and the query's part of the error bound
// (model/bound.h). Shared by all backends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/bound.h"
#include "model/quantize.h"

namespace glove {

// codes and scale are Q and S in model/bound.h.
struct QuantizedQuery {
  std::vector<int16_t> codes;  // [component_groups(dims) * kTileComponents], zero past dims
  int32_t code_sum = 0;        // sum of codes
  double scale = 0;
  QueryBound bound;
  ShiftBound shift;  // of codes that are shifted
};

// max_code is the largest magnitude that a code may have, 1..32767. |sum(c * codes)| < 2^31 for all row codes
// in [-128, 127], so an int32 sum cannot overflow, whatever a file contains. REQUIRES: every component of
// `vector` is finite, norm_squared = D(vector, vector) > 0, and the float environment.
QuantizedQuery quantize_query(std::span<const float> vector, double norm_squared, int32_t max_code);

// Returns the same bits without SIMD, for comparison.
QuantizedQuery quantize_query_plain(std::span<const float> vector, double norm_squared, int32_t max_code);

// A query for scans of the codes of 4 bits: codes of 16 bits, of which a scan multiplies the high 8 with
// every row, and the low 8 with the rows that are left. The code of a component is 256 * high + low, with the
// scale 256 * S of `high`.
struct SplitQuery {
  QuantizedQuery high;      // codes in [-127, 127]; its bound is that of a scan that ignores `low`
  std::vector<int8_t> low;  // [high.codes.size()]
  int32_t low_sum = 0;      // sum of low
  QueryBound whole;         // of the codes of 16 bits

  // The estimate of a row's similarity by all 16 bits, given its sums with the codes of both halves. Its
  // error is whole.error(), roundings included.
  float estimate(float high_total, float low_total, float row_scale) const {
    return (256.0f * high_total + low_total) * (row_scale * whole.inverse_scale);
  }
};

// REQUIRES: as for quantize_query.
SplitQuery split_query(std::span<const float> vector, double norm_squared);

}  // namespace glove
