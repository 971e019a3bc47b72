#include "analysis/convolve.h"

#include <algorithm>
#include <string>

namespace glove {
namespace {

Status check(const Grid& kernel) {
  if (kernel.rows == 0 || kernel.columns == 0)
    return {ErrorCode::kInvalidArgument,
            "the kernel is empty; it must have an odd number of rows and columns"};
  if (kernel.rows % 2 == 0 || kernel.columns % 2 == 0)
    return {ErrorCode::kInvalidArgument, "the kernel has " + std::to_string(kernel.rows) + " rows and " +
                                             std::to_string(kernel.columns) +
                                             " columns; both must be odd, so that it has a middle"};
  return {};
}

// Adds factor times `from`, moved right by `shift` columns, to `to`.
void add_shifted(const double* from, double factor, int64_t shift, int64_t columns, double* to) {
  const int64_t end = std::min(columns, columns + shift);
  for (int64_t j = std::max<int64_t>(0, shift); j < end; ++j) to[j] += factor * from[j - shift];
}

}  // namespace

Result<Grid> convolve(const Grid& grid, const Grid& kernel, const InterruptCheck& interrupted) {
  GLOVE_RETURN_IF_ERROR(check(kernel));
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

}  // namespace glove
