// The inner loop of convolutions, of which each instruction set has its own.
#pragma once

#include <cstdint>

namespace glove::cpu {

// Rows of the result that are computed together.
constexpr int64_t kConvolvedRows = 4;
// Values past the last column that the loop may read.
constexpr int64_t kConvolveMargin = 16;

// A grid, with zeros around each row, and a kernel.
struct Convolution {
  const double* grid;  // [rows, stride]: width / 2 zeros, the row, width / 2 + kConvolveMargin zeros
  int64_t rows;
  int64_t columns;        // of a row, without the zeros
  int64_t stride;         // columns + width - 1 + kConvolveMargin
  const double* weights;  // [height, width], both odd
  int64_t height;
  int64_t width;
  double* out;  // [rows, columns]
};

// Computes rows [i, i + kConvolvedRows), as far as they exist, of columns [first, last).
using ConvolveRows = void(const Convolution& task, int64_t i, int64_t first, int64_t last);

ConvolveRows convolve_rows_scalar;

}  // namespace glove::cpu
