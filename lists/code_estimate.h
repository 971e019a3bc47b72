// The similarity of one row by its codes of 8 bits, the same number on every machine.
#pragma once

#include <cstdint>

#include "model/model_part.h"
#include "model/quantized_query.h"

namespace glove {

// The largest code of a query for such similarities.
constexpr int32_t kEstimateQueryCode = 32767;

// Returns the product of a row's codes and the query's.
inline int32_t code_product(const CodeLevel& level, int64_t row, int64_t dims, const QuantizedQuery& query) {
  const int8_t* codes = level.codes.data() + code_index(row, 0, dims);
  const int16_t* at = query.codes.data();
  int32_t sum = 0;
  for (int64_t group = 0; group < component_groups(dims); ++group) {
    for (int64_t i = 0; i < kTileComponents; ++i) sum += codes[i] * at[i];
    codes += kTileRows * kTileComponents;
    at += kTileComponents;
  }
  return sum;
}

// Returns the similarity. REQUIRES: the query has codes of up to kEstimateQueryCode.
inline float code_estimate(const CodeLevel& level, int64_t row, int64_t dims, const QuantizedQuery& query) {
  return query.bound.estimate(static_cast<float>(code_product(level, row, dims, query)),
                              level.scales[static_cast<size_t>(row)]);
}

}  // namespace glove
