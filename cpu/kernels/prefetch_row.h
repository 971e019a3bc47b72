// Fetches rows into the cache before they are read.
#pragma once

#include <cstdint>

#include "analysis/points.h"

namespace glove::cpu {

// Begins to fetch the vector of a row. Always inline, because GCC drops calls of functions that only
// prefetch.
[[gnu::always_inline]] inline void prefetch_row(const Points& points, int64_t row) {
  constexpr int64_t kLineFloats = 16;
  const float* const x = points.vector(row);
  for (int64_t j = 0; j < points.dims; j += kLineFloats) __builtin_prefetch(x + j);
}

}  // namespace glove::cpu
