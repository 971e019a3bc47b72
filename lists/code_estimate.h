// The score of one row by its codes of 8 bits, the same number on every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

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

// Leaves the estimate of the row's score and its error, also of codes that are shifted. REQUIRES: the same.
inline void estimate_score(const CodeLevel& level, int64_t row, int64_t dims, const QuantizedQuery& query,
                           float& estimate, float& error) {
  const auto place = static_cast<size_t>(row);
  estimate = code_estimate(level, row, dims, query);
  error = query.bound.error(level.residuals[place]);
  if (!level.along.empty()) query.shift.add(level.along[place], level.lengths[place], estimate, error);
}

// Returns an upper bound of the row's score, in the unit of Searcher::search() for a model without vectors.
// REQUIRES: the same.
inline double code_bound(const CodeLevel& level, int64_t row, int64_t dims, const QuantizedQuery& query) {
  float estimate = 0, error = 0;
  estimate_score(level, row, dims, query, estimate, error);
  const double upper = static_cast<double>(estimate) + static_cast<double>(error);
  return std::isnan(upper) ? std::numeric_limits<double>::infinity() : upper;
}

}  // namespace glove
