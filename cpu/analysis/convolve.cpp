#include "cpu/analysis/moments.h"

#include <algorithm>
#include <vector>

#include "analysis/convolve.h"
#include "base/thread_pool.h"

namespace glove::cpu {
namespace {

constexpr int64_t kChunkProducts = 4 << 20;  // a few ms at most
constexpr int64_t kFewestColumns = 64;       // of a chunk
constexpr int64_t kCopiedValues = 256 << 10;

// The grid with zeros before and after each row.
Result<std::vector<double>> padded(const Grid& grid, int64_t zeros, int64_t stride, int threads,
                                   const InterruptCheck& interrupted) {
  std::vector<double> copy(static_cast<size_t>(grid.rows * stride));
  const int64_t step = std::max<int64_t>(1, kCopiedValues / stride);
  const auto work = [&](int, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      std::copy_n(grid.row(i), grid.columns, copy.data() + i * stride + zeros);
  };
  GLOVE_RETURN_IF_ERROR(ThreadPool::for_pieces(threads, grid.rows, step, interrupted, work));
  return copy;
}

Result<Grid> convolve_with(const Kernels& kernels, int threads, const Grid& grid, const Grid& kernel,
                           const InterruptCheck& interrupted) {
  Grid result(grid.rows, grid.columns);
  if (grid.values.empty()) return result;
  const Grid by = cropped_kernel(kernel, grid);
  const int64_t stride = grid.columns + by.columns - 1 + kConvolveMargin;
  GLOVE_ASSIGN_OR_RETURN(const std::vector<double> copy,
                         padded(grid, by.columns / 2, stride, threads, interrupted));
  const Convolution task = {copy.data(),      grid.rows, grid.columns, stride,
                            by.values.data(), by.rows,   by.columns,   result.values.data()};
  const int64_t values = std::max<int64_t>(1, kChunkProducts / (by.rows * by.columns));  // of a chunk
  const int64_t width = std::clamp(values / kConvolvedRows / kFewestColumns * kFewestColumns, kFewestColumns,
                                   grid.columns + kFewestColumns);
  const int64_t height = std::max<int64_t>(1, values / (width * kConvolvedRows)) * kConvolvedRows;
  const int64_t across = (grid.columns + width - 1) / width;
  const int64_t down = (grid.rows + height - 1) / height;
  const auto work = [&](int, int64_t chunk, int64_t) {
    const int64_t first = chunk % across * width;
    const int64_t begin = chunk / across * height;
    for (int64_t i = begin; i < std::min(grid.rows, begin + height); i += kConvolvedRows)
      kernels.convolve_rows(task, i, first, std::min(grid.columns, first + width));
  };
  GLOVE_RETURN_IF_ERROR(ThreadPool::for_pieces(threads, across * down, 1, interrupted, work));
  return result;
}

}  // namespace

Result<Grid> convolve(const Kernels& kernels, int threads, const Grid& grid, std::span<const Grid> by,
                      const InterruptCheck& interrupted) {
  GLOVE_RETURN_IF_ERROR(check_kernels(by));
  Grid result = by.empty() ? grid : Grid();
  const Grid* from = &grid;
  for (const Grid& kernel : by) {
    GLOVE_ASSIGN_OR_RETURN(result, convolve_with(kernels, threads, *from, kernel, interrupted));
    from = &result;
  }
  return result;
}

}  // namespace glove::cpu
