// Convolution of a grid with a kernel.
#pragma once

#include "analysis/grid.h"
#include "base/cancel.h"
#include "base/status.h"

namespace glove {

// Returns a grid of the same size: result[i][j] = the sum of kernel[a][b] * grid[i + r - a][j + s - b] over a
// and then b, rising, where (r, s) is the middle of the kernel and values beyond the grid's border are 0.
// Each product and each sum is rounded to double, in this order. Errors: a kernel without values, or of an
// even number of rows or columns; an interrupt, which is checked once per row.
Result<Grid> convolve(const Grid& grid, const Grid& kernel, const InterruptCheck& interrupted);

}  // namespace glove
