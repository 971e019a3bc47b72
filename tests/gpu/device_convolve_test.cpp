// Convolutions on a device made of host memory: where they are computed, and failures.
#include <gtest/gtest.h>

#include <vector>

#include "analysis/convolve.h"
#include "analysis/takeover.h"
#include "cpu/cpu_backend.h"
#include "tests/gpu/device_fixture.h"

namespace glove::testing {
namespace {

class DeviceConvolveTest : public DeviceBackendTest {
 protected:
  void SetUp() override {
    DeviceBackendTest::SetUp();
    grid_ = random_grid(20, 30);
    kernels_ = {random_grid(3, 5), random_grid(1, 7)};
  }

  Grid random_grid(int64_t rows, int64_t columns) {
    Grid grid(rows, columns);
    for (double& value : grid.values) value = static_cast<double>(random_()) * 0x1p-64 - 0.5;
    return grid;
  }

  Result<Grid> convolve_on_device(const InterruptCheck& interrupted = {}) {
    return backend().analysis()->convolve(grid_, kernels_, interrupted);
  }

  Grid grid_;
  std::vector<Grid> kernels_;
};

TEST_F(DeviceConvolveTest, RunOnTheDevice) {
  make();
  const Grid expected = convolve(grid_, kernels_, {}).value();
  EXPECT_EQ(convolve_on_device().value().values, expected.values);
  EXPECT_EQ(knobs_.convolutions, 1);
  EXPECT_EQ(knobs_.allocated, 0);
}

TEST_F(DeviceConvolveTest, TheHostDoesWhatNeedsNoDevice) {
  make();
  EXPECT_EQ(backend().analysis()->convolve(Grid(0, 0), kernels_, {}).value().values.size(), 0u);
  EXPECT_EQ(backend().analysis()->convolve(grid_, {}, {}).value().values, grid_.values);
  kernels_.push_back(Grid(2, 1));
  EXPECT_EQ(convolve_on_device().error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(knobs_.convolutions, 0);
}

TEST_F(DeviceConvolveTest, TheHostDoesWhatDoesNotFit) {
  make();
  knobs_.total_bytes = 100;
  const Grid expected = convolve(grid_, kernels_, {}).value();
  EXPECT_EQ(convolve_on_device().value().values, expected.values);
  EXPECT_EQ(knobs_.convolutions, 0);
  knobs_.total_bytes = int64_t{1} << 40;
  EXPECT_EQ(convolve_on_device().value().values, expected.values);
  EXPECT_EQ(knobs_.convolutions, 1);
}

TEST_F(DeviceConvolveTest, AnInterruptStopsThem) {
  make();
  EXPECT_EQ(convolve_on_device([] { return true; }).error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(knobs_.allocated, 0);
}

TEST_F(DeviceConvolveTest, TheCpuTakesOverFromALostDevice) {
  make();
  engine_->backends().add(make_cpu_backend());
  const Grid expected = convolve_on_device().value();
  const AnalysisBackends named = {&backend(), nullptr};
  const AnalysisBackends automatic = {&backend(), engine_->backends().all().back().get()};
  const auto run = [&](const AnalysisBackends& backends) {
    std::string answered;
    return with_takeover(*engine_, backends, "convolve", answered,
                         [&](Analysis& analysis) { return analysis.convolve(grid_, kernels_, {}); });
  };
  knobs_.lost = true;
  EXPECT_EQ(run(automatic).value().values, expected.values);
  knobs_.lost = false;
  EXPECT_EQ(run(named).error().message, "fake: lost");
  EXPECT_EQ(run(automatic).value().values, expected.values);
  EXPECT_EQ(knobs_.convolutions, 1);
}

}  // namespace
}  // namespace glove::testing
