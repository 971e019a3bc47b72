#include "tests/analysis/reference.h"

#include <algorithm>
#include <cmath>

namespace glove::test {
namespace {

double norm_squared(const Matrix& matrix, int64_t row) {
  return reference_dot(matrix.row(row), matrix.row(row), matrix.dims);
}

}  // namespace

std::vector<NearestTwo> reference_nearest_two(const Matrix& matrix, const Centroids& centroids) {
  std::vector<NearestTwo> result(static_cast<size_t>(matrix.rows));
  for (int64_t row = 0; row < matrix.rows; ++row) {
    const double x2 = norm_squared(matrix, row);
    if (centroids.metric == Metric::kCosine && x2 == 0) continue;
    NearestTwo& best = result[static_cast<size_t>(row)];
    for (int64_t c = 0; c < centroids.count; ++c) {
      const double c2 = reference_dot(centroids.vector(c), centroids.vector(c), matrix.dims);
      const double dot = reference_dot(matrix.row(row), centroids.vector(c), matrix.dims);
      const double score = centroids.metric == Metric::kCosine
                               ? std::clamp(dot / std::sqrt(x2 * c2), -1.0, 1.0)
                               : -((x2 + c2) - 2 * dot);
      if (best.first < 0 || score > best.first_score) {
        best = {static_cast<int32_t>(c), best.first, score, best.first_score};
      } else if (best.second < 0 || score > best.second_score) {
        best.second = static_cast<int32_t>(c);
        best.second_score = score;
      }
    }
  }
  return result;
}

FixedSums reference_sums(const Matrix& matrix, const Points& points, Metric metric, int64_t k,
                         const std::vector<int32_t>& labels) {
  FixedSums sums(metric, k, points);
  for (int64_t row = 0; row < matrix.rows; ++row) {
    const int32_t label = labels[static_cast<size_t>(row)];
    if (label < 0) continue;
    ++sums.sizes[static_cast<size_t>(label)];
    const double factor = metric == Metric::kCosine
                              ? 1 / std::sqrt(norm_squared(matrix, row)) * std::ldexp(1.0, sums.bits)
                              : std::ldexp(1.0, sums.bits) / sums.unit;
    for (int64_t j = 0; j < matrix.dims; ++j)
      sums.sums[static_cast<size_t>(label * matrix.dims + j)] +=
          std::llrint(static_cast<double>(matrix.row(row)[j]) * factor);
  }
  return sums;
}

ReferenceFit reference_kmeans(const Matrix& matrix, const Points& points, Metric metric,
                              const std::vector<int32_t>& start, int64_t max_iterations, double tolerance) {
  const auto k = static_cast<int64_t>(start.size());
  ReferenceFit fit{Centroids(metric, k, matrix.dims), {}, 0, false};
  for (int64_t c = 0; c < k; ++c) fit.centroids.set(c, matrix.row(start[static_cast<size_t>(c)]));
  std::vector<int32_t> labels(static_cast<size_t>(matrix.rows), -1);
  while (fit.iterations < max_iterations) {
    const std::vector<NearestTwo> nearest = reference_nearest_two(matrix, fit.centroids);
    int64_t changes = 0;
    int64_t members = 0;
    for (size_t row = 0; row < labels.size(); ++row) {
      changes += labels[row] != nearest[row].first;
      labels[row] = nearest[row].first;
      members += labels[row] >= 0;
    }
    const FixedSums sums = reference_sums(matrix, points, metric, k, labels);
    if (std::count(sums.sizes.begin(), sums.sizes.end(), 0) > 0) fit.lost_a_cluster = true;
    sums.update(fit.centroids);
    ++fit.iterations;
    if (fit.iterations > 1 && static_cast<double>(changes) <= tolerance * static_cast<double>(members)) break;
  }
  fit.rows = reference_nearest_two(matrix, fit.centroids);
  return fit;
}

}  // namespace glove::test
