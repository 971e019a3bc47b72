// A matrix of numbers in double, and its convolution with kernels.
//
// The convolution with a kernel is a grid of the same size: result[i][j] = the sum of
// kernel[a][b] * grid[i + r - a][j + s - b] over a and then b, rising, where (r, s) is the middle of the
// kernel and values beyond the grid's border are 0. Each product and each sum is rounded to double, in this
// order. Where a sum leaves the range of double, the result is not finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace glove {

struct Grid {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<double> values;  // [rows, columns]

  Grid() = default;
  Grid(int64_t row_count, int64_t column_count)
      : rows(row_count), columns(column_count), values(static_cast<size_t>(row_count * column_count)) {}

  double* row(int64_t index) { return values.data() + index * columns; }
  const double* row(int64_t index) const { return values.data() + index * columns; }
};

// Convolves with each kernel in turn, on at most `threads` threads; 0 means all cores. It is an error if a
// kernel has an even number of rows or of columns. REQUIRES: the kernels are finite; the float environment.
Result<Grid> convolve(const Grid& grid, std::span<const Grid> kernels, int threads,
                      const InterruptCheck& interrupted);

}  // namespace glove
