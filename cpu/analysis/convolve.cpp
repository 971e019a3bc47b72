#include "cpu/analysis/convolve.h"

#include <algorithm>
#include <vector>

#include "analysis/convolve.h"
#include "base/thread_pool.h"

namespace glove::cpu {
namespace {

constexpr int64_t kChunkProducts = 4 << 20;  // a few ms at most
constexpr int64_t kFewestColumns = 64;       // of a chunk
constexpr int64_t kCopiedValues = 256 << 10;

// Runs work(chunk) for all chunks.
template <class Work>
Status run(int threads, int64_t chunks, const InterruptCheck& interrupted, const Work& work) {
  const auto chunk_work = [&](int, int64_t chunk) { work(chunk); };
  if (!ThreadPool::instance().run(threads, chunks, chunk_work, interrupted)) return interrupted_error();
  return {};
}

// The grid with zeros before and after each row.
Result<std::vector<double>> padded(const Grid& grid, int64_t zeros, int64_t stride, int threads,
                                   const InterruptCheck& interrupted) {
  std::vector<double> copy(static_cast<size_t>(grid.rows * stride));
  const int64_t step = std::max<int64_t>(1, kCopiedValues / stride);
  GLOVE_RETURN_IF_ERROR(run(threads, (grid.rows + step - 1) / step, interrupted, [&](int64_t chunk) {
    for (int64_t i = chunk * step; i < std::min(grid.rows, (chunk + 1) * step); ++i)
      std::copy_n(grid.row(i), grid.columns, copy.data() + i * stride + zeros);
  }));
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
  GLOVE_RETURN_IF_ERROR(run(threads, across * down, interrupted, [&](int64_t chunk) {
    const int64_t first = chunk % across * width;
    const int64_t begin = chunk / across * height;
    for (int64_t i = begin; i < std::min(grid.rows, begin + height); i += kConvolvedRows)
      kernels.convolve_rows(task, i, first, std::min(grid.columns, first + width));
  }));
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
