// Convolution and densities against plain references.
#include "analysis/density.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "analysis/grid.h"
#include "base/float_environment.h"
#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

Grid random_grid(int64_t rows, int64_t columns, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Grid grid(rows, columns);
  for (double& value : grid.values) value = normal(random);
  return grid;
}

double value_at(const Grid& grid, int64_t i, int64_t j) {
  return i < 0 || j < 0 || i >= grid.rows || j >= grid.columns ? 0 : grid.row(i)[j];
}

// Whether both have the same bits, or are NaN.
bool same_number(double left, double right) {
  return std::bit_cast<uint64_t>(left) == std::bit_cast<uint64_t>(right) ||
         (std::isnan(left) && std::isnan(right));
}

// The sum that analysis/grid.h describes, value by value.
Grid convolved(Grid grid, const std::vector<Grid>& kernels) {
  for (const Grid& kernel : kernels) {
    Grid result(grid.rows, grid.columns);
    for (int64_t i = 0; i < grid.rows; ++i)
      for (int64_t j = 0; j < grid.columns; ++j)
        for (int64_t a = 0; a < kernel.rows; ++a)
          for (int64_t b = 0; b < kernel.columns; ++b)
            result.row(i)[j] +=
                kernel.row(a)[b] * value_at(grid, i + kernel.rows / 2 - a, j + kernel.columns / 2 - b);
    grid = std::move(result);
  }
  return grid;
}

void expect_definition(const Grid& grid, const std::vector<Grid>& kernels) {
  const Grid expected = convolved(grid, kernels);
  for (const int threads : {1, 3, 0}) {
    const auto found = convolve(grid, kernels, threads, {});
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found.value().rows, grid.rows);
    ASSERT_EQ(found.value().columns, grid.columns);
    for (size_t i = 0; i < expected.values.size(); ++i)
      ASSERT_TRUE(same_number(found.value().values[i], expected.values[i]))
          << threads << " threads, value " << i << " of " << grid.rows << " x " << grid.columns;
  }
}

TEST(Convolve, IsItsDefinition) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(50);
  for (const auto& [rows, columns] : {std::pair{1, 1}, {1, 9}, {7, 1}, {5, 6}, {40, 33}})
    for (const auto& [height, width] : {std::pair{1, 1}, {3, 3}, {1, 5}, {5, 1}, {7, 3}, {41, 3}, {3, 99}}) {
      SCOPED_TRACE(height * 1000 + width);
      expect_definition(random_grid(rows, columns, random), {random_grid(height, width, random)});
    }
}

TEST(Convolve, RefusesKernelsWithoutAMiddle) {
  const ScopedFloatEnvironment environment;
  for (const auto& [rows, columns] : {std::pair{0, 0}, {1, 0}, {2, 1}, {1, 2}, {4, 4}})
    EXPECT_FALSE(convolve(Grid(3, 3), std::vector{Grid(1, 1), Grid(rows, columns)}, 1, {}).ok())
        << rows << " x " << columns;
}

TEST(Convolve, HandlesNothingAndInterrupts) {
  const ScopedFloatEnvironment environment;
  const std::vector<Grid> one = {Grid(1, 1)}, nine = {Grid(3, 3)};
  EXPECT_EQ(convolve(Grid(0, 0), one, 2, {}).value().values.size(), 0u);
  EXPECT_EQ(convolve(Grid(3, 0), nine, 2, {}).value().rows, 3);
  EXPECT_EQ(convolve(Grid(2, 2), {}, 2, {}).value().values.size(), 4u);
  EXPECT_EQ(convolve(Grid(3, 3), one, 2, [] { return true; }).error().code, ErrorCode::kInterrupted);
}

// A row and a kernel of one row, each far longer than a piece of the work.
TEST(Convolve, IsInterruptedWithinARow) {
  const ScopedFloatEnvironment environment;
  int calls = 0;
  const std::vector<Grid> wide = {Grid(1, 400001)};
  const auto found = convolve(Grid(1, 400000), wide, 1, [&] { return ++calls == 3; });
  EXPECT_EQ(found.error().code, ErrorCode::kInterrupted);
}

// Sizes around the vectors of the loops, kernels that reach beyond the grid, and sums that overflow.
TEST(Convolve, IsItsDefinitionForRandomSizes) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(53);
  for (int round = 0; round < 40; ++round) {
    const auto size = [&](int64_t most) {
      return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most));
    };
    Grid grid = random_grid(size(round % 4 == 0 ? 130 : 20), size(round % 4 == 1 ? 300 : 40), random);
    if (round % 5 == 0) grid.values[random() % grid.values.size()] = 1e308;
    std::vector<Grid> kernels;
    for (int64_t count = size(3); count > 0; --count)
      kernels.push_back(random_grid(2 * size(12) - 1, 2 * size(round % 3 == 0 ? 60 : 5) - 1, random));
    expect_definition(grid, kernels);
  }
}

// Several pieces of work, which begin and end within rows.
TEST(Convolve, DividesLargeWork) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(54);
  expect_definition(random_grid(203, 310, random),
                    {random_grid(31, 19, random), random_grid(1, 41, random), random_grid(3, 3, random)});
}

TEST(Density, SmoothsAHistogram) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(51);
  std::normal_distribution<double> normal;
  std::vector<double> x(500), y(500);
  for (double& value : x) value = normal(random);
  for (double& value : y) value = 10 * normal(random);
  DensityOptions options;
  options.width = 20;
  options.height = 30;
  options.sigma = 0;
  options.extent = PlaneExtent{-1, -15, 2, 5};
  const Grid histogram = point_density(x, y, options, 1, {}).value();
  double inside = 0;
  for (size_t i = 0; i < x.size(); ++i) inside += x[i] >= -1 && x[i] <= 2 && y[i] >= -15 && y[i] <= 5 ? 1 : 0;
  double counted = 0;
  for (const double value : histogram.values) counted += value;
  EXPECT_EQ(counted, inside);
  options.sigma = 1.3;
  const Grid smooth = point_density(x, y, options, 1, {}).value();
  constexpr int kRadius = 3;  // the whole number below 3 sigma
  double weights[2 * kRadius + 1], sum = 0;
  for (int i = -kRadius; i <= kRadius; ++i) sum += weights[i + kRadius] = std::exp(-i * i / (2 * 1.3 * 1.3));
  for (int64_t i = 0; i < 30; ++i)
    for (int64_t j = 0; j < 20; ++j) {
      double expected = 0;
      for (int a = -kRadius; a <= kRadius; ++a)
        for (int b = -kRadius; b <= kRadius; ++b)
          expected +=
              weights[a + kRadius] * weights[b + kRadius] / (sum * sum) * value_at(histogram, i + a, j + b);
      ASSERT_NEAR(smooth.row(i)[j], expected, 1e-11);
    }
}

TEST(Density, DoesNotDependOnTheOrder) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(52);
  std::vector<double> x(100), y(100);
  std::normal_distribution<double> normal;
  for (double& value : x) value = normal(random);
  for (double& value : y) value = normal(random);
  const Grid grid = point_density(x, y, {}, 1, {}).value();
  std::ranges::reverse(x);
  std::ranges::reverse(y);
  EXPECT_EQ(point_density(x, y, {}, 1, {}).value().values, grid.values);
}

TEST(Density, TakesExtremePoints) {
  constexpr double kMost = std::numeric_limits<double>::max();
  DensityOptions options;
  options.width = options.height = 2;
  options.sigma = 0;
  const std::vector<double> x = {-kMost, kMost, 0};
  EXPECT_EQ(point_density(x, x, options, 1, {}).value().values, (std::vector<double>{1, 0, 0, 2}));
  const std::vector<double> one = {7}, zero = {0};
  EXPECT_EQ(point_density(one, zero, options, 1, {}).value().values, (std::vector<double>{0, 0, 0, 1}));
  const std::vector<double> tiny = {0, 5e-324};
  EXPECT_EQ(point_density(tiny, tiny, options, 1, {}).value().values, (std::vector<double>{1, 0, 0, 1}));
  for (const double value : {kMost, -kMost}) {
    const std::vector<double> far = {value};
    const std::vector<double> counts = point_density(far, far, options, 1, {}).value().values;
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0.0), 1) << "the point is in some cell";
    const PlaneExtent extent = extent_of(far, far);
    EXPECT_TRUE(std::isfinite(extent.x_min) && std::isfinite(extent.y_max));
    EXPECT_LT(extent.x_min, extent.x_max);
  }
}

}  // namespace
}  // namespace glove::test
