// Convolutions on a real device: they equal the CPU's to the last bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "analysis/analysis.h"
#include "analysis/density.h"
#include "base/float_environment.h"
#include "tests/gpu/cuda_support.h"

namespace glove::testing {
namespace {

class CudaConvolve : public CudaTest {
 protected:
  int64_t size(int64_t most) { return 1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(most)); }

  Grid random_grid(int64_t rows, int64_t columns) {
    std::normal_distribution<double> normal;
    Grid grid(rows, columns);
    for (double& value : grid.values) value = normal(random_);
    return grid;
  }

  void expect_equal(const Grid& grid, std::span<const Grid> kernels) {
    const ScopedFloatEnvironment environment;
    const auto wanted = backend_named("cpu").analysis()->convolve(grid, kernels, {});
    const auto got = backend_named("cuda").analysis()->convolve(grid, kernels, {});
    ASSERT_TRUE(wanted.ok());
    ASSERT_TRUE(got.ok()) << got.error().message;
    for (size_t i = 0; i < grid.values.size(); ++i) {
      const double left = got.value().values[i], right = wanted.value().values[i];
      if (std::isnan(left) && std::isnan(right)) continue;
      ASSERT_EQ(std::bit_cast<uint64_t>(left), std::bit_cast<uint64_t>(right))
          << "value " << i << " of " << grid.rows << " x " << grid.columns
          << ", GLOVE_TEST_SEED=" << test_seed();
    }
  }
};

TEST_F(CudaConvolve, RandomSizes) {
  for (int round = 0; round < 60; ++round) {
    Grid grid = random_grid(size(round % 3 == 0 ? 300 : 12), size(round % 4 == 0 ? 1100 : 40));
    if (round % 5 == 0) grid.values[random_() % grid.values.size()] = 1e308;
    std::vector<Grid> kernels;
    for (int64_t count = size(3); count > 0; --count)
      kernels.push_back(random_grid(2 * size(8) - 1, 2 * size(round % 6 == 0 ? 50 : 6) - 1));
    expect_equal(grid, kernels);
    if (HasFatalFailure()) return;
  }
}

TEST_F(CudaConvolve, ThreeByThree) {
  for (const int64_t rows : {1, 2, 3, 4, 5, 9, 130})
    for (const int64_t columns : {1, 2, 62, 64, 66, 255, 256, 258, 1000, 1001}) {
      const std::vector<Grid> kernels = {random_grid(3, 3), random_grid(3, 3)};
      expect_equal(random_grid(rows, columns), kernels);
      if (HasFatalFailure()) return;
    }
}

// More rows than one launch computes, and kernels that reach beyond the grid.
TEST_F(CudaConvolve, TallGridsAndLargeKernels) {
  const std::vector<Grid> small = {random_grid(3, 3), random_grid(5, 1)};
  expect_equal(random_grid(600001, 2), small);
  const std::vector<Grid> large = {random_grid(151, 99), random_grid(1, 301)};
  expect_equal(random_grid(70, 120), large);
}

TEST_F(CudaConvolve, SmoothsDensities) {
  for (const double sigma : {0.5, 1.5, 20.0}) expect_equal(random_grid(200, 333), gaussian_kernels(sigma));
}

TEST_F(CudaConvolve, AnInterruptStopsThem) {
  const std::vector<Grid> kernels = {random_grid(3, 3)};
  const auto stopped =
      backend_named("cuda").analysis()->convolve(random_grid(9, 9), kernels, [] { return true; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace glove::testing
