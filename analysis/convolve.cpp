#include "analysis/convolve.h"

#include <algorithm>

#include "base/concat.h"
#include "base/float_environment.h"
#include "base/require.h"

namespace glove {
namespace {

Status check(const Grid& kernel) {
  if (kernel.rows == 0 || kernel.columns == 0)
    return invalid_argument("the kernel is empty; it must have an odd number of rows and columns");
  if (kernel.rows % 2 == 0 || kernel.columns % 2 == 0)
    return invalid_argument("the kernel has ", counted(kernel.rows, "rows"), " and ",
                            counted(kernel.columns, "columns"),
                            "; both must be odd, so that it has a middle");
  return {};
}

// Adds factor times `from`, moved right by `shift` columns, to `to`.
void add_shifted(const double* from, double factor, int64_t shift, int64_t columns, double* to) {
  const int64_t end = std::min(columns, columns + shift);
  for (int64_t j = std::max<int64_t>(0, shift); j < end; ++j) to[j] += factor * from[j - shift];
}

Result<Grid> convolve_with(const Grid& grid, const Grid& kernel, const InterruptCheck& interrupted) {
  Grid result(grid.rows, grid.columns);
  const int64_t middle_row = kernel.rows / 2;
  const int64_t middle_column = kernel.columns / 2;
  for (int64_t i = 0; i < grid.rows; ++i) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    const int64_t first = std::max<int64_t>(0, i + middle_row - grid.rows + 1);
    const int64_t last = std::min(kernel.rows - 1, i + middle_row);
    for (int64_t a = first; a <= last; ++a)
      for (int64_t b = 0; b < kernel.columns; ++b)
        add_shifted(grid.row(i + middle_row - a), kernel.row(a)[b], b - middle_column, grid.columns,
                    result.row(i));
  }
  return result;
}

}  // namespace

Status check_kernels(std::span<const Grid> kernels) {
  for (const Grid& kernel : kernels) GLOVE_RETURN_IF_ERROR(check(kernel));
  return {};
}

Grid cropped_kernel(const Grid& kernel, const Grid& grid) {
  Grid result(std::min(kernel.rows, std::max<int64_t>(1, 2 * grid.rows - 1)),
              std::min(kernel.columns, std::max<int64_t>(1, 2 * grid.columns - 1)));
  const int64_t above = (kernel.rows - result.rows) / 2;
  const int64_t before = (kernel.columns - result.columns) / 2;
  for (int64_t a = 0; a < result.rows; ++a)
    std::copy_n(kernel.row(above + a) + before, result.columns, result.row(a));
  return result;
}

double convolution_products(const Grid& grid, std::span<const Grid> kernels) {
  double weights = 0;
  for (const Grid& kernel : kernels) weights += static_cast<double>(kernel.values.size());
  return weights * static_cast<double>(grid.values.size());
}

Result<Grid> convolve(const Grid& grid, std::span<const Grid> kernels, const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  GLOVE_RETURN_IF_ERROR(check_kernels(kernels));
  Grid result = grid;
  for (const Grid& kernel : kernels) {
    GLOVE_ASSIGN_OR_RETURN(result, convolve_with(result, kernel, interrupted));
  }
  return result;
}

}  // namespace glove
