// What a search reads of a model: its parts, and the compact copies of each. Views, not owners.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/quantize.h"

namespace glove {

// A compact copy of a part's rows that a scan reads instead of the vectors, with what makes the scan certain
// (model/quantize.h, model/bound.h).
struct CodeLevel {
  int bits = 8;                      // of a code
  std::span<const int8_t> codes;     // code_bytes(rows, dims), tiles of quantize.h
  std::span<const float> scales;     // [rows]
  std::span<const float> residuals;  // [rows]
};

// Rows [first_row, first_row + rows) of a model.
struct ModelPart {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t dims = 0;
  std::span<const float> vectors;         // [rows, dims], row-major, finite
  std::span<const double> norms_squared;  // [rows], D(x, x)
  std::vector<CodeLevel> levels;          // coarsest first; today one, of 8 bits

  // `row` counts from first_row.
  const float* vector(int64_t row) const { return vectors.data() + row * dims; }
  double norm_squared(int64_t row) const { return norms_squared[static_cast<size_t>(row)]; }
};

}  // namespace glove
