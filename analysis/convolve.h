// Convolution of a grid with kernels.
//
// The convolution with a kernel is a grid of the same size: result[i][j] = the sum of
// kernel[a][b] * grid[i + r - a][j + s - b] over a and then b, rising, where (r, s) is the middle of the
// kernel and values beyond the grid's border are 0. Each product and each sum is rounded to double, in this
// order. Where a sum leaves the range of double, the result is not finite.
#pragma once

#include <span>

#include "analysis/grid.h"
#include "base/cancel.h"
#include "base/status.h"

namespace glove {

// Returns an error unless each kernel has an odd number of rows and of columns.
Status check_kernels(std::span<const Grid> kernels);

// The kernel without what lies more than the grid's size from its middle, which meets zeros only.
Grid cropped_kernel(const Grid& kernel, const Grid& grid);

// The number of products that convolutions with these kernels compute.
double convolution_products(const Grid& grid, std::span<const Grid> kernels);

// Convolves with each kernel in turn, on this thread and without a backend. Errors: those of check_kernels();
// an interrupt, which is checked once per row. REQUIRES: the kernels are finite; the float environment.
Result<Grid> convolve(const Grid& grid, std::span<const Grid> kernels, const InterruptCheck& interrupted);

}  // namespace glove
