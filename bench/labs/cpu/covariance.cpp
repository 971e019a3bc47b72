#include "bench/labs/cpu/covariance.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "bench/labs/cpu/parallel.h"
#include "bench/labs/cpu/vectors.h"

namespace glove::labs {
namespace {

constexpr int64_t kDepth = 256;  // rows that are packed at a time
constexpr int64_t kTileRows = 8;
constexpr int64_t kTileVectors = 3;
constexpr int64_t kTileColumns = kTileVectors * kDoubles;
constexpr int64_t kStrip =
    3 * kTileColumns;  // columns whose packed panels stay in a core's first cache level

std::vector<double> means_of(const Covariance& task) {
  std::vector<double> means(static_cast<size_t>(task.columns));
  for (int64_t i = 0; i < task.rows; ++i)
    for (int64_t j = 0; j < task.columns; ++j) means[static_cast<size_t>(j)] += task.a[i * task.columns + j];
  for (double& mean : means) mean /= static_cast<double>(task.rows);
  return means;
}

// Panels of `width` columns of the rows [first, first + depth), centred: [panels, depth, width].
void pack(const Covariance& task, const std::vector<double>& means, int64_t first, int64_t depth,
          int64_t width, int64_t panel, double* packed) {
  for (int64_t i = 0; i < depth; ++i)
    for (int64_t c = 0; c < width; ++c) {
      const int64_t j = panel * width + c;
      packed[(panel * kDepth + i) * width + c] =
          j < task.columns ? task.a[(first + i) * task.columns + j] - means[static_cast<size_t>(j)] : 0;
    }
}

// out[r][c] += the sum over the depth of left[i][r] * right[i][c].
//   left  [depth, kTileRows];  right  [depth, kTileColumns]
void add_tile(const double* left, const double* right, int64_t depth, int64_t stride, double* out) {
  Doubles sums[kTileRows][kTileVectors] = {};
  for (int64_t i = 0; i < depth; ++i, left += kTileRows, right += kTileColumns) {
    const Doubles b0 = load<Doubles>(right);
    const Doubles b1 = load<Doubles>(right + kDoubles);
    const Doubles b2 = load<Doubles>(right + 2 * kDoubles);
#pragma GCC unroll 8
    for (int64_t r = 0; r < kTileRows; ++r) {
      sums[r][0] += left[r] * b0;
      sums[r][1] += left[r] * b1;
      sums[r][2] += left[r] * b2;
    }
  }
#pragma GCC unroll 8
  for (int64_t r = 0; r < kTileRows; ++r)
#pragma GCC unroll 3
    for (int64_t v = 0; v < kTileVectors; ++v) {
      double* const to = out + r * stride + v * kDoubles;
      store(load<Doubles>(to) + sums[r][v], to);
    }
}

}  // namespace

void lab_covariance(const Covariance& task) {
  const std::vector<double> means = means_of(task);
  std::vector<double> centred(static_cast<size_t>(task.rows * task.columns));
  for (int64_t i = 0; i < task.rows; ++i)
    for (int64_t j = 0; j < task.columns; ++j)
      centred[static_cast<size_t>(i * task.columns + j)] =
          task.a[i * task.columns + j] - means[static_cast<size_t>(j)];
  for (int64_t j = 0; j < task.columns; ++j)
    for (int64_t k = j; k < task.columns; ++k) {
      double sum = 0;
      for (int64_t i = 0; i < task.rows; ++i)
        sum += centred[static_cast<size_t>(i * task.columns + j)] *
               centred[static_cast<size_t>(i * task.columns + k)];
      sum /= static_cast<double>(task.rows - 1);
      task.covariance[j * task.columns + k] = task.covariance[k * task.columns + j] = sum;
    }
}

void transposed_covariance(const Covariance& task) {
  const std::vector<double> means = means_of(task);
  const int64_t stride = (task.rows + kDoubles - 1) / kDoubles * kDoubles;
  std::vector<double> columns(static_cast<size_t>(stride * task.columns));
  for (int64_t i = 0; i < task.rows; ++i)
    for (int64_t j = 0; j < task.columns; ++j)
      columns[static_cast<size_t>(j * stride + i)] =
          task.a[i * task.columns + j] - means[static_cast<size_t>(j)];
  for (int64_t j = 0; j < task.columns; ++j)
    for (int64_t k = j; k < task.columns; ++k) {
      Doubles sums = {};
      for (int64_t i = 0; i < stride; i += kDoubles)
        sums +=
            load<Doubles>(columns.data() + j * stride + i) * load<Doubles>(columns.data() + k * stride + i);
      double sum = 0;
      for (int lane = 0; lane < kDoubles; ++lane) sum += sums[lane];
      sum /= static_cast<double>(task.rows - 1);
      task.covariance[j * task.columns + k] = task.covariance[k * task.columns + j] = sum;
    }
}

void tiled_covariance(const Covariance& task, int threads) {
  const std::vector<double> means = means_of(task);
  const int64_t strips = (task.columns + kStrip - 1) / kStrip;
  const int64_t padded = strips * kStrip;
  const std::unique_ptr<double[]> left(new double[static_cast<size_t>(padded * kDepth)]);
  const std::unique_ptr<double[]> right(new double[static_cast<size_t>(padded * kDepth)]);
  const std::unique_ptr<double[]> sums(new double[static_cast<size_t>(padded * padded)]());
  for (int64_t first = 0; first < task.rows; first += kDepth) {
    const int64_t depth = std::min(kDepth, task.rows - first);
    in_parallel(threads, strips, [&](int64_t strip) {
      for (int64_t panel = 0; panel < kStrip / kTileRows; ++panel)
        pack(task, means, first, depth, kTileRows, strip * (kStrip / kTileRows) + panel, left.get());
      for (int64_t panel = 0; panel < kStrip / kTileColumns; ++panel)
        pack(task, means, first, depth, kTileColumns, strip * (kStrip / kTileColumns) + panel, right.get());
    });
    // A strip of columns j with all rows i of the triangle: the strip's panels stay in the cache, and the
    // panels of i pass by. The strips with the most work come first.
    in_parallel(threads, strips, [&](int64_t part) {
      const int64_t strip = strips - 1 - part;
      for (int64_t i = 0; i < (strip + 1) * kStrip; i += kTileRows)
        for (int64_t j = strip * kStrip; j < (strip + 1) * kStrip; j += kTileColumns)
          if (j + kTileColumns > i)
            add_tile(left.get() + i * kDepth, right.get() + j * kDepth, depth, padded,
                     sums.get() + i * padded + j);
    });
  }
  const double divisor = static_cast<double>(task.rows - 1);
  in_parallel(threads, strips, [&](int64_t strip) {
    for (int64_t i = strip * kStrip; i < std::min(task.columns, (strip + 1) * kStrip); ++i)
      for (int64_t j = 0; j < task.columns; ++j)
        task.covariance[i * task.columns + j] =
            (j >= i ? sums[static_cast<size_t>(i * padded + j)] : sums[static_cast<size_t>(j * padded + i)]) /
            divisor;
  });
}

}  // namespace glove::labs
