#include "cpu/analysis/moments.h"

#include <vector>

#include "base/thread_pool.h"
#include "cpu/kernels/wide_query.h"

namespace glove::cpu {
namespace {

constexpr int64_t kMostPartialBytes = 64 << 20;  // of the blocks' sums that are waiting to be added
constexpr int64_t kChunkProducts = 16 << 20;     // multiply-adds per chunk of work: a few ms
constexpr int64_t kBufferRows = 32;              // rows at a time, so that they stay in a core's cache
constexpr int64_t kExactBlock = 64;

double weight_of(std::span<const double> weights, int64_t row) {
  return weights.empty() ? 1 : weights[static_cast<size_t>(row)];
}

// Processes the blocks of rows in groups, whose sums are computed in parallel and then added in order.
// `compute` fills the sums of a block, one of its `strips` strips per call.
template <class Compute>
Status sum_blocks(const Points& points, int threads, int64_t sum_size, int64_t strips,
                  std::span<double> total, const InterruptCheck& interrupted, const Compute& compute) {
  const int64_t blocks = (points.rows + kMomentBlock - 1) / kMomentBlock;
  const int64_t bytes = sum_size * static_cast<int64_t>(sizeof(double));
  const int64_t group = std::clamp<int64_t>(kMostPartialBytes / bytes, 1, std::max<int64_t>(4 * threads, 1));
  std::vector<double> partial(static_cast<size_t>(std::min(group, blocks) * sum_size));
  std::fill(total.begin(), total.end(), 0.0);
  for (int64_t first = 0; first < blocks; first += group) {
    const int64_t count = std::min(group, blocks - first);
    std::fill(partial.begin(), partial.end(), 0.0);
    const auto work = [&](int slot, int64_t chunk) {
      compute(slot, first + chunk / strips, chunk % strips, partial.data() + chunk / strips * sum_size);
    };
    if (!ThreadPool::instance().run(threads, count * strips, work, interrupted)) return interrupted_error();
    for (int64_t block = 0; block < count; ++block)
      for (int64_t i = 0; i < sum_size; ++i)
        total[static_cast<size_t>(i)] += partial[static_cast<size_t>(block * sum_size + i)];
  }
  return {};
}

// The strip of a block's second moment that consists of the matrix's rows [first, last).
class GramPart {
 public:
  GramPart(const Kernels& kernels, const Points& points, const MomentRows& rows,
           std::span<const double> center)
      : kernels_(*kernels.moment),
        points_(points),
        rows_(rows),
        center_(center),
        stride_(gram_stride(points.dims)),
        y_(static_cast<size_t>(kBufferRows * stride_)) {}

  void add(int64_t block, int64_t first, int64_t last, double* matrix) {
    const int64_t end = std::min(points_.rows, (block + 1) * kMomentBlock);
    int64_t filled = 0;
    for (int64_t row = block * kMomentBlock; row < end; ++row) {
      const double weight = weight_of(rows_.weights, row);
      if (weight == 0) continue;
      kernels_.center_row(points_.vector(row) + first, weight, center_.data() + first, points_.dims - first,
                          y_.data() + filled * stride_ + first);
      if (++filled < kBufferRows) continue;
      kernels_.update_gram(y_.data(), filled, points_.dims, first, last, matrix);
      filled = 0;
    }
    kernels_.update_gram(y_.data(), filled, points_.dims, first, last, matrix);
  }

 private:
  const MomentKernels& kernels_;
  const Points& points_;
  const MomentRows& rows_;
  std::span<const double> center_;
  int64_t stride_;
  std::vector<double> y_;
};

Status sum(const Kernels& kernels, int threads, const Points& points, const ColumnSums& what,
           const InterruptCheck& interrupted) {
  const auto compute = [&](int, int64_t block, int64_t, double* partial) {
    const int64_t end = std::min(points.rows, (block + 1) * kMomentBlock);
    for (int64_t row = block * kMomentBlock; row < end; ++row)
      if (const double weight = weight_of(what.weights, row); weight != 0)
        kernels.moment->add_row(points.vector(row), weight, points.dims, partial);
  };
  return sum_blocks(points, threads, points.dims, 1, what.sums, interrupted, compute);
}

Status sum(const Kernels& kernels, int threads, const Points& points, const GramProduct& what,
           const InterruptCheck& interrupted) {
  const std::vector<double> wide = widen(what.vector);
  const auto compute = [&](int, int64_t block, int64_t, double* partial) {
    const int64_t end = std::min(points.rows, (block + 1) * kMomentBlock);
    const float* rows[kBufferRows] = {};
    double dots[kBufferRows] = {};
    for (int64_t first = block * kMomentBlock; first < end; first += kBufferRows) {
      const int64_t count = std::min(kBufferRows, end - first);
      for (int64_t i = 0; i < count; ++i) rows[i] = points.vector(first + i);
      kernels.exact_dots(wide.data(), rows, count, points.dims, dots);
      for (int64_t i = 0; i < count; ++i)
        if (dots[i] != 0) kernels.moment->add_row(rows[i], dots[i], points.dims, partial);
    }
  };
  return sum_blocks(points, threads, points.dims, 1, what.product, interrupted, compute);
}

Status sum(const Kernels& kernels, int threads, const Points& points, const SecondMoment& what,
           const InterruptCheck& interrupted) {
  const int64_t dims = points.dims;
  const int64_t stride = gram_stride(dims);
  std::vector<double> center(static_cast<size_t>(dims));
  std::copy(what.rows.center.begin(), what.rows.center.end(), center.begin());
  const int64_t height =
      std::max<int64_t>(1, kChunkProducts / (kMomentBlock * dims) / kGramRows) * kGramRows;  // per strip
  const int64_t strips = (dims + height - 1) / height;
  std::vector<GramPart> slots(static_cast<size_t>(std::max(threads, 1)),
                              GramPart(kernels, points, what.rows, center));
  const auto compute = [&](int slot, int64_t block, int64_t strip, double* matrix) {
    slots[static_cast<size_t>(slot)].add(block, strip * height, std::min(dims, (strip + 1) * height), matrix);
  };
  const int64_t padded_rows = (dims + kGramRows - 1) / kGramRows * kGramRows;
  std::vector<double> total(static_cast<size_t>(padded_rows * stride));
  GLOVE_RETURN_IF_ERROR(
      sum_blocks(points, threads, padded_rows * stride, strips, total, interrupted, compute));
  for (int64_t i = 0; i < dims; ++i)
    for (int64_t j = i; j < dims; ++j) {
      const double value = total[static_cast<size_t>(i * stride + j)];
      what.moment[static_cast<size_t>(i * dims + j)] = what.moment[static_cast<size_t>(j * dims + i)] = value;
    }
  return {};
}

}  // namespace

Status dots(const Kernels& kernels, int threads, const Points& points, std::span<const float> vector,
            std::span<double> dots, const InterruptCheck& interrupted) {
  const std::vector<double> wide = widen(vector);
  const auto work = [&](int, int64_t first, int64_t end) {
    const float* rows[kExactBlock] = {};
    for (; first < end; first += kExactBlock) {
      const int64_t count = std::min(kExactBlock, end - first);
      for (int64_t i = 0; i < count; ++i) rows[i] = points.vector(first + i);
      kernels.exact_dots(wide.data(), rows, count, points.dims, dots.data() + first);
    }
  };
  return ThreadPool::for_pieces(threads, points.rows, rows_per_chunk(points.dims), interrupted, work);
}

Status sum_rows(const Kernels& kernels, int threads, const Points& points, const RowSums& what,
                const InterruptCheck& interrupted) {
  return std::visit([&](const auto& one) { return sum(kernels, threads, points, one, interrupted); }, what);
}

}  // namespace glove::cpu
