#include "analysis/grid.h"

#include <algorithm>

#include "base/concat.h"
#include "base/float_environment.h"
#include "base/require.h"
#include "base/thread_pool.h"
#include "base/x86_features.h"

namespace glove {
namespace {

constexpr int64_t kPieceProducts = 4 << 20;  // of a piece of the work: a few ms at most
constexpr int64_t kFewestCells = 64;         // of a piece
constexpr int64_t kAtOnce = 4;               // products per reading and writing of a sum

Status check(const Grid& kernel) {
  if (kernel.rows == 0 || kernel.columns == 0)
    return invalid_argument("the kernel is empty; it must have an odd number of rows and columns");
  if (kernel.rows % 2 == 0 || kernel.columns % 2 == 0)
    return invalid_argument("the kernel has ", counted(kernel.rows, "rows"), " and ",
                            counted(kernel.columns, "columns"),
                            "; both must be odd, so that it has a middle");
  return {};
}

// The kernel without what lies more than the grid's size from its middle, which meets zeros only.
Grid cropped_kernel(const Grid& kernel, const Grid& grid) {
  Grid result(std::min(kernel.rows, std::max<int64_t>(1, 2 * grid.rows - 1)),
              std::min(kernel.columns, std::max<int64_t>(1, 2 * grid.columns - 1)));
  const int64_t above = (kernel.rows - result.rows) / 2;
  const int64_t before = (kernel.columns - result.columns) / 2;
  for (int64_t a = 0; a < result.rows; ++a)
    std::copy_n(kernel.row(above + a) + before, result.columns, result.row(a));
  return result;
}

// The grid with zeros before and after each row.
Grid padded(const Grid& grid, int64_t zeros) {
  Grid result(grid.rows, grid.columns + 2 * zeros);
  for (int64_t i = 0; i < grid.rows; ++i) std::copy_n(grid.row(i), grid.columns, result.row(i) + zeros);
  return result;
}

// Adds to each sum its products with kAtOnce weights, in their order.
//   from  the row of values that each weight meets
[[gnu::always_inline]] inline void add_products_plain(const double* const* from, const double* weights,
                                                      int64_t cells, double* sums) {
  for (int64_t j = 0; j < cells; ++j) {
    double sum = sums[j];
    for (int64_t k = 0; k < kAtOnce; ++k) sum += weights[k] * from[k][j];
    sums[j] = sum;
  }
}

#if defined(__x86_64__)
GLOVE_AVX2 void add_products_avx2(const double* const* from, const double* weights, int64_t cells,
                                  double* sums) {
  add_products_plain(from, weights, cells, sums);
}
#endif

void add_products(const double* const* from, const double* weights, int64_t cells, double* sums) {
#if defined(__x86_64__)
  static const bool fast = x86_features().avx2;
  if (fast) return add_products_avx2(from, weights, cells, sums);
#endif
  add_products_plain(from, weights, cells, sums);
}

// Computes `cells` cells of row i of the result from column `first` on.
//   grid  padded
void convolve_cells(const Grid& grid, const Grid& kernel, int64_t i, int64_t first, int64_t cells,
                    double* sums) {
  const int64_t lowest = i + kernel.rows / 2;  // the row of the grid that the first row of weights meets
  const int64_t end = std::min(kernel.rows, lowest + 1) * kernel.columns;
  const auto met_by = [&](int64_t weight) {
    const double* const row = grid.row(lowest - weight / kernel.columns);
    return row + first + kernel.columns - 1 - weight % kernel.columns;
  };
  int64_t weight = std::max<int64_t>(0, lowest - grid.rows + 1) * kernel.columns;
  for (; weight + kAtOnce <= end; weight += kAtOnce) {
    const double* from[kAtOnce];
    for (int64_t k = 0; k < kAtOnce; ++k) from[k] = met_by(weight + k);
    add_products(from, kernel.values.data() + weight, cells, sums);
  }
  for (; weight < end; ++weight)
    for (int64_t j = 0; j < cells; ++j) sums[j] += kernel.row(0)[weight] * met_by(weight)[j];
}

Result<Grid> convolve_with(const Grid& grid, const Grid& kernel, int threads,
                           const InterruptCheck& interrupted) {
  Grid result(grid.rows, grid.columns);
  if (grid.values.empty()) return result;
  const Grid from = padded(grid, kernel.columns / 2);
  const int64_t step = std::max(kFewestCells, kPieceProducts / std::ssize(kernel.values));
  const auto work = [&](int, int64_t first, int64_t last) {
    while (first < last) {
      const int64_t column = first % grid.columns;
      const int64_t cells = std::min(last - first, grid.columns - column);
      convolve_cells(from, kernel, first / grid.columns, column, cells, result.values.data() + first);
      first += cells;
    }
  };
  GLOVE_RETURN_IF_ERROR(
      ThreadPool::for_pieces(thread_count(threads), std::ssize(grid.values), step, interrupted, work));
  return result;
}

}  // namespace

Result<Grid> convolve(const Grid& grid, std::span<const Grid> kernels, int threads,
                      const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  for (const Grid& kernel : kernels) GLOVE_RETURN_IF_ERROR(check(kernel));
  Grid result = grid;
  for (const Grid& kernel : kernels) {
    GLOVE_ASSIGN_OR_RETURN(result, convolve_with(result, cropped_kernel(kernel, grid), threads, interrupted));
  }
  return result;
}

}  // namespace glove
