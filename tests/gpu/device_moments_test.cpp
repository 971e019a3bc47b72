// Sums over rows on a device made of host memory: where they are computed, limits, failures. And how the
// threads of a real one share a second moment.
#include <gtest/gtest.h>

#include "analysis/principal.h"
#include "analysis/takeover.h"
#include "cpu/cpu_backend.h"
#include "gpu/layout/gram_plan.h"
#include "gpu/layout/plan.h"
#include "tests/gpu/device_fixture.h"

namespace glove::testing {
namespace {

class DeviceMomentsTest : public DeviceBackendTest {
 protected:
  Analysis& device() { return *backend().analysis(); }

  // Expects the host's sums, of which `on_device` are computed by the device: 0 or all.
  void expect_hosts_sums(const PointSet& set, bool on_device) {
    const Points& points = set.points();
    const auto dims = static_cast<size_t>(points.dims);
    const std::vector<float> vector = random_vector(random_, points.dims, Rows::kGaussian);
    const std::vector<double> weights = unit_weights(points);
    const int64_t before = knobs_.sums;
    const auto expect_equal = [&](size_t size, const auto& sum) {
      std::vector<double> got(size, 1.0);
      std::vector<double> wanted(size, 2.0);
      const Status status = sum(device(), std::span(got));
      ASSERT_TRUE(status.ok()) << status.error().message;
      ASSERT_TRUE(sum(*host_analysis_, std::span(wanted)).ok());
      EXPECT_EQ(got, wanted);
    };
    expect_equal(dims,
                 [&](Analysis& a, std::span<double> out) { return a.column_sums(points, weights, out, {}); });
    expect_equal(dims,
                 [&](Analysis& a, std::span<double> out) { return a.gram_product(points, vector, out, {}); });
    expect_equal(dims * dims, [&](Analysis& a, std::span<double> out) {
      return a.second_moment(points, {weights, vector}, out, {});
    });
    EXPECT_EQ(knobs_.sums - before, on_device ? 3 : 0);
  }
};

TEST_F(DeviceMomentsTest, AreComputedWhereTheModelIs) {
  make();
  const ModelPtr m = model(3000, 30, Rows::kGaussian);
  expect_hosts_sums(PointSet::first_rows(m, 3000), false);
  ASSERT_TRUE(open(m).ok());
  expect_hosts_sums(PointSet::first_rows(m, 3000), true);
  expect_hosts_sums(PointSet::first_rows(m, 1025), true);
  expect_hosts_sums(PointSet::first_rows(m, 1), true);
  expect_hosts_sums(PointSet::first_rows(m, 0), false);
  expect_hosts_sums(PointSet::chosen_rows(m, {7, 3, 2999}), false);
  forget(m);
  expect_hosts_sums(PointSet::first_rows(m, 3000), false);
  EXPECT_EQ(knobs_.allocated, 0);
}

TEST_F(DeviceMomentsTest, RowsThatAreHeldStayOnTheDevice) {
  make();
  const ModelPtr m = model(3000, 30, Rows::kGaussian);
  const PointSet all = PointSet::first_rows(m, 3000);
  {
    auto held = device().hold_rows(all.points(), {});
    ASSERT_TRUE(held.ok()) << held.error().message;
    EXPECT_NE(held.value(), nullptr);
    expect_hosts_sums(all, true);
    EXPECT_EQ(knobs_.allocations, 2);  // the model once: codes, and vectors
  }
  EXPECT_EQ(knobs_.allocated, 0);
  const PointSet few = PointSet::first_rows(m, 1500);
  EXPECT_EQ(device().hold_rows(few.points(), {}).value(), nullptr);
  EXPECT_EQ(device().hold_rows(PointSet::chosen_rows(m, {1, 2}).points(), {}).value(), nullptr);
  EXPECT_EQ(host_analysis_->hold_rows(all.points(), {}).value(), nullptr);
}

TEST_F(DeviceMomentsTest, TheHostSumsWhatDoesNotFit) {
  make();
  const ModelPtr m = model(5000, 40, Rows::kGaussian);
  limit_ = gpu::plan_memory(5000, 40).scan_bytes + 1000;  // no room for the vectors
  ASSERT_TRUE(open(m).ok());
  expect_hosts_sums(PointSet::first_rows(m, 5000), false);
  auto held = device().hold_rows(PointSet::first_rows(m, 5000).points(), {});
  ASSERT_FALSE(held.ok());
  EXPECT_EQ(held.error().code, ErrorCode::kOutOfMemory) << held.error().message;
  const ModelPtr wide = model(20, static_cast<int64_t>(gpu::kMaxBatchDims) + 1, Rows::kGaussian);
  limit_ = 0;
  ASSERT_TRUE(open(wide).ok());
  std::vector<double> sums(static_cast<size_t>(wide->dims()));
  ASSERT_TRUE(device().column_sums(PointSet::first_rows(wide, 20).points(), {}, sums, {}).ok());
  EXPECT_EQ(knobs_.sums, 0);
}

TEST_F(DeviceMomentsTest, ADeviceThatIsLostIsAnErrorAndStaysLost) {
  make();
  const ModelPtr m = model(1000, 30, Rows::kGaussian);
  const PointSet set = PointSet::first_rows(m, 1000);
  ASSERT_TRUE(open(m).ok());
  expect_hosts_sums(set, true);
  knobs_.lost = true;
  auto failed = principal_components(device(), set.points(), {}, {});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  knobs_.lost = false;
  EXPECT_EQ(principal_components(device(), set.points(), {}, {}).error().message, "fake: lost");
  EXPECT_FALSE(device().hold_rows(set.points(), {}).ok());
}

std::string messages_logged;

TEST_F(DeviceMomentsTest, TheCpuTakesOverUnderAuto) {
  make();
  engine_->backends().add(make_cpu_backend());
  const ModelPtr m = model(1000, 30, Rows::kGaussian);
  const PointSet set = PointSet::first_rows(m, 1000);
  ASSERT_TRUE(open(m).ok());
  messages_logged.clear();
  engine_->log().set_sink([](const std::string& message) { messages_logged += message; });
  const AnalysisBackends named = {&backend(), nullptr};
  const AnalysisBackends automatic = {&backend(), engine_->backends().all().back().get()};
  std::string answered;
  const auto compute = [&](const AnalysisBackends& backends) {
    return with_takeover(*engine_, backends, "compute", answered, [&](Analysis& analysis) {
      return principal_components(analysis, set.points(), {}, {});
    });
  };
  const auto wanted = compute(automatic);
  ASSERT_TRUE(wanted.ok());
  EXPECT_EQ(answered, "cuda");
  EXPECT_EQ(messages_logged, "");
  knobs_.lost = true;
  const auto got = compute(automatic);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(answered, "cpu");
  EXPECT_EQ(messages_logged, "backend 'cuda' cannot compute: fake: lost");
  EXPECT_EQ(got.value().vectors, wanted.value().vectors);
  EXPECT_EQ(compute(named).error().message, "fake: lost");
}

TEST_F(DeviceMomentsTest, AnInterruptStopsThem) {
  make();
  const ModelPtr m = model(1000, 30, Rows::kGaussian);
  const PointSet set = PointSet::first_rows(m, 1000);
  ASSERT_TRUE(open(m).ok());
  auto stopped = principal_components(device(), set.points(), {}, [] { return true; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
}

// Does what the kernel does, in plain loops: each warp computes its tile of the products of one row.
TEST(GramPlan, CoversEveryPairOfComponents) {
  for (const int64_t dims :
       {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50, 96, 97, 100, 128, 255, 300, 319, 320, 321, 384, 500}) {
    const gpu::GramPlan plan = gpu::plan_gram(dims);
    ASSERT_LE(plan.warps, gpu::kMostGramWarps);
    ASSERT_LE(plan.width, gpu::kMostGramWidth);
    ASSERT_GE(plan.warps * 32 * gpu::kMostGramLoads, gpu::kGramRows * plan.width);
    ASSERT_EQ(plan.tiles.size(), plan.groups.size() * static_cast<size_t>(plan.warps));
    const auto value = [&](int64_t component) {
      return component < dims ? static_cast<double>(component + 1) : 0.0;
    };
    std::vector<double> sums(static_cast<size_t>(plan.size()), -1.0);
    for (size_t at = 0; at < plan.tiles.size(); ++at) {
      const gpu::GramGroup group = plan.groups[at / static_cast<size_t>(plan.warps)];
      const gpu::GramTile tile = plan.tiles[at];
      if (tile.left < 0) {
        ASSERT_EQ(std::max(tile.left, tile.right), -1);
        continue;
      }
      ASSERT_GE(tile.right, 0);
      ASSERT_LE(std::max(tile.left, tile.right), plan.width - gpu::kGramTile);
      const auto buffer = [&](int64_t place) {
        return value(place < plan.panel ? group.left + place : group.right + place - plan.panel);
      };
      for (int32_t k = 0; k < gpu::kLaneProducts; ++k)
        for (int32_t lane = 0; lane < 32; ++lane) {
          const gpu::GramPair pair = gpu::gram_pair(k, lane);
          sums[(at * gpu::kLaneProducts + static_cast<size_t>(k)) * 32 + static_cast<size_t>(lane)] =
              buffer(tile.left + pair.left) * buffer(tile.right + pair.right);
        }
    }
    std::vector<double> moment(static_cast<size_t>(dims * dims), -2.0);
    gpu::unfold_gram(plan, sums, dims, moment);
    for (int64_t i = 0; i < dims; ++i)
      for (int64_t j = 0; j < dims; ++j)
        ASSERT_EQ(moment[static_cast<size_t>(i * dims + j)], value(i) * value(j)) << dims;
  }
}

}  // namespace
}  // namespace glove::testing
