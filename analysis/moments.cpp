#include "analysis/moments.h"

#include <algorithm>
#include <cmath>

#include "analysis/analysis.h"
#include "base/float_environment.h"
#include "base/require.h"

namespace glove {

std::vector<double> unit_weights(const Points& points) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  std::vector<double> weights(static_cast<size_t>(points.rows));
  for (int64_t row = 0; row < points.rows; ++row) {
    const double norm_squared = points.norms_squared[row];
    weights[static_cast<size_t>(row)] = norm_squared > 0 ? 1 / std::sqrt(norm_squared) : 0;
  }
  return weights;
}

int64_t weighted_rows(const Points& points, std::span<const double> weights) {
  if (weights.empty()) return points.rows;
  return points.rows - std::count(weights.begin(), weights.end(), 0.0);
}

bool rows_are_equal(const Points& points, std::span<const double> weights) {
  constexpr double kRounding = 0x1p-50;  // relative; a product has three roundings of 2^-53 or less
  int64_t first = -1;
  for (int64_t row = 0; row < points.rows; ++row) {
    const double weight = weights.empty() ? 1 : weights[static_cast<size_t>(row)];
    if (weight == 0) continue;
    if (first < 0) first = row;
    const double first_weight = weights.empty() ? 1 : weights[static_cast<size_t>(first)];
    for (int64_t j = 0; j < points.dims; ++j) {
      const double a = first_weight * static_cast<double>(points.vector(first)[j]);
      const double b = weight * static_cast<double>(points.vector(row)[j]);
      if (!(std::fabs(a - b) <= kRounding * std::fabs(a))) return false;
    }
  }
  return true;
}

Result<std::vector<double>> weighted_mean(Analysis& analysis, const Points& points,
                                          std::span<const double> weights,
                                          const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(weights.empty() || std::ssize(weights) == points.rows);
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  std::vector<double> mean(static_cast<size_t>(points.dims));
  const int64_t rows = weighted_rows(points, weights);
  if (rows == 0) return mean;
  GLOVE_RETURN_IF_ERROR(analysis.column_sums(points, weights, mean, interrupted));
  for (double& value : mean) value /= static_cast<double>(rows);
  return mean;
}

}  // namespace glove
