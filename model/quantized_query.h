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
};

// max_code is the largest magnitude that a code may have, 1..32767. |sum(c * codes)| < 2^31 for all row codes
// in [-128, 127], so an int32 sum cannot overflow, whatever a file contains. REQUIRES: every component of
// `vector` is finite, norm_squared = D(vector, vector) > 0, and the float environment.
QuantizedQuery quantize_query(std::span<const float> vector, double norm_squared, int32_t max_code);

// Returns the same bits without SIMD, for comparison.
QuantizedQuery quantize_query_plain(std::span<const float> vector, double norm_squared, int32_t max_code);

}  // namespace glove
