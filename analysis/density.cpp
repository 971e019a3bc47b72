#include "analysis/density.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "analysis/grid.h"
#include "base/float_environment.h"
#include "base/require.h"

namespace glove {
namespace {

constexpr double kCutoff = 3;  // in sigma

// exp(-t) for t in [0, 5], accurate to about 13 digits. By +, * and / alone, so that it has the same bits on
// every machine, unlike std::exp.
double negative_exp(double t) {
  constexpr int kHalvings = 10;
  const double step = t / (1 << kHalvings);
  double result = 1 - step * (1 - step / 2 * (1 - step / 3 * (1 - step / 4 * (1 - step / 5))));
  for (int i = 0; i < kHalvings; ++i) result *= result;
  return result;
}

// A row whose sum is 1.
Grid gaussian_row(double sigma) {
  const auto radius = static_cast<int64_t>(kCutoff * sigma);
  Grid kernel(1, 2 * radius + 1);
  double sum = 0;
  for (int64_t i = -radius; i <= radius; ++i) {
    const double distance = static_cast<double>(i) / sigma;  // at most kCutoff
    sum += kernel.values[static_cast<size_t>(i + radius)] = negative_exp(distance * distance / 2);
  }
  for (double& weight : kernel.values) weight /= sum;
  return kernel;
}

// The cell that contains a value; -1 if it is outside.
int64_t cell_of(double value, double least, double most, int64_t cells) {
  if (!(value >= least && value <= most)) return -1;
  const double range = most - least;
  const double share =
      std::isfinite(range) ? (value - least) / range : (value / 2 - least / 2) / (most / 2 - least / 2);
  const double place = share * static_cast<double>(cells);
  return place >= static_cast<double>(cells) ? cells - 1 : static_cast<int64_t>(place);
}

void widen(double& least, double& most) {
  if (least < most) return;
  constexpr double kMost = std::numeric_limits<double>::max();
  const double half = std::max(0.5, std::fabs(least) / 2);
  least = std::max(least - half, -kMost);
  most = std::min(most + half, kMost);
}

// Row 0 has the smallest y.
Grid point_counts(std::span<const double> x, std::span<const double> y, const DensityOptions& options) {
  GLOVE_REQUIRE(x.size() == y.size() && (!x.empty() || options.extent) && options.width > 0 &&
                options.height > 0);
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  const PlaneExtent extent = options.extent ? *options.extent : extent_of(x, y);
  Grid counts(options.height, options.width);
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t column = cell_of(x[i], extent.x_min, extent.x_max, options.width);
    const int64_t row = cell_of(y[i], extent.y_min, extent.y_max, options.height);
    if (row >= 0 && column >= 0) counts.row(row)[column] += 1;
  }
  return counts;
}

// The kernels whose convolutions, one after the other, smooth a grid: a row, and then a column.
std::vector<Grid> gaussian_kernels(double sigma) {
  if (sigma == 0) return {};
  const Grid across = gaussian_row(sigma);
  Grid down = across;
  std::swap(down.rows, down.columns);
  return {across, down};
}

}  // namespace

PlaneExtent extent_of(std::span<const double> x, std::span<const double> y) {
  GLOVE_REQUIRE(!x.empty() && x.size() == y.size());
  const auto [x_min, x_max] = std::ranges::minmax(x);
  const auto [y_min, y_max] = std::ranges::minmax(y);
  PlaneExtent extent{x_min, y_min, x_max, y_max};
  widen(extent.x_min, extent.x_max);
  widen(extent.y_min, extent.y_max);
  return extent;
}

Result<Grid> point_density(std::span<const double> x, std::span<const double> y,
                           const DensityOptions& options, int threads, const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(options.sigma >= 0);
  return convolve(point_counts(x, y, options), gaussian_kernels(options.sigma), threads, interrupted);
}

}  // namespace glove
