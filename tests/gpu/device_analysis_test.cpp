// k-means on a device made of host memory: which rows are uploaded, limits, failures.
#include "gpu/analysis/device_analysis.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/kmeans.h"
#include "analysis/takeover.h"
#include "gpu/layout/plan.h"
#include "tests/gpu/device_fixture.h"
#include "tests/gpu/same_fit.h"

namespace glove::testing {
namespace {

class DeviceAnalysisTest : public DeviceBackendTest {
 protected:
  Result<Clustering> fit(const PointSet& set, int64_t k, const InterruptCheck& interrupted = {}) {
    return cluster_rows(*backend().analysis(), set.points(), k, {}, interrupted);
  }
  void expect_hosts_fit(const PointSet& set, int64_t k) {
    auto wanted = cluster_rows(*host_analysis_, set.points(), k, {}, {});
    auto got = fit(set, k);
    ASSERT_TRUE(got.ok()) << got.error().message;
    ASSERT_TRUE(wanted.ok()) << wanted.error().message;
    EXPECT_EQ(difference(got.value(), wanted.value()), "");
  }
};

TEST_F(DeviceAnalysisTest, FitsAreTheHostsWhicheverRowsAreMeant) {
  make();
  const ModelPtr m = model(1000, 30, Rows::kGaussian);
  expect_hosts_fit(PointSet::first_rows(m, 1000), 7);
  expect_hosts_fit(PointSet::first_rows(m, 777), 7);
  expect_hosts_fit(PointSet::first_rows(m, 33), 7);
  expect_hosts_fit(PointSet::chosen_rows(m, {900, 3, 3, 17, 450, 999, 5}), 3);
  EXPECT_EQ(knobs_.passes, 4);
  EXPECT_EQ(knobs_.allocated, 0);  // nothing stays
}

TEST_F(DeviceAnalysisTest, AResidentModelIsNotUploadedAgain) {
  make();
  const ModelPtr m = model(1000, 30, Rows::kGaussian);
  ASSERT_TRUE(open(m).ok());
  const int before = knobs_.allocations;
  expect_hosts_fit(PointSet::first_rows(m, 1000), 7);
  EXPECT_EQ(knobs_.allocations, before + 1);  // the vectors, which no search had asked for yet
  expect_hosts_fit(PointSet::first_rows(m, 300), 7);
  EXPECT_EQ(knobs_.allocations, before + 1);
  forget(m);
  EXPECT_EQ(knobs_.allocated, 0);
}

TEST_F(DeviceAnalysisTest, RowsThatDoNotFitAreAnError) {
  make();
  const ModelPtr m = model(5000, 40, Rows::kGaussian);
  const gpu::MemoryPlan plan = gpu::plan_memory(5000, 40);
  for (const int64_t limit : {int64_t{1000}, plan.scan_bytes + 1000}) {
    limit_ = limit;
    auto refused = fit(PointSet::first_rows(m, 5000), 3);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory) << refused.error().message;
    EXPECT_EQ(knobs_.allocated, 0);
  }
  limit_ = 0;
  expect_hosts_fit(PointSet::first_rows(m, 5000), 3);
}

TEST_F(DeviceAnalysisTest, ADeviceThatIsLostDuringAFitStaysLost) {
  make();
  const ModelPtr m = model(1000, 30, Rows::kGaussian);
  int asked = 0;
  auto failed = fit(PointSet::first_rows(m, 1000), 7, [&] {
    if (knobs_.passes > 0 && ++asked == 5) knobs_.lost = true;
    return false;
  });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  knobs_.lost = false;
  EXPECT_FALSE(backend().available().ok());
  EXPECT_EQ(fit(PointSet::first_rows(m, 1000), 7).error().message, "fake: lost");
}

std::vector<std::string> logged;

// What the backend 'auto' does.
TEST_F(DeviceAnalysisTest, TheHostTakesOverFromAFailingDevice) {
  make();
  const ModelPtr m = model(1000, 30, Rows::kGaussian);
  const PointSet set = PointSet::first_rows(m, 1000);
  auto wanted = cluster_rows(*host_analysis_, set.points(), 7, {}, {});
  ASSERT_TRUE(wanted.ok()) << wanted.error().message;
  logged.clear();
  engine_->log().set_sink([](const std::string& message) { logged.push_back(message); });
  const AnalysisBackends backends = {&backend(), host_.get()};
  std::string answered;
  const auto fit_on_either = [&](int64_t k, const InterruptCheck& interrupted) {
    return with_takeover(*engine_, backends, "cluster", answered, [&](Analysis& analysis) {
      return cluster_rows(analysis, set.points(), k, {}, interrupted);
    });
  };
  const auto expect_wanted = [&](const Result<Clustering>& got) {
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(difference(got.value(), wanted.value()), "");
  };
  expect_wanted(fit_on_either(7, {}));
  EXPECT_EQ(answered, "cuda");
  EXPECT_TRUE(logged.empty());  // the device works

  EXPECT_EQ(fit_on_either(0, {}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(fit_on_either(7, [] { return true; }).error().code, ErrorCode::kInterrupted);
  EXPECT_TRUE(logged.empty());  // neither is the device's fault

  limit_ = 1000;
  expect_wanted(fit_on_either(7, {}));
  EXPECT_EQ(answered, "cpu");
  EXPECT_EQ(logged.size(), 1u);  // it has no room
  limit_ = 0;

  const int64_t passes = knobs_.passes;
  int asked = 0;
  expect_wanted(fit_on_either(7, [&] {
    if (knobs_.passes > passes && ++asked == 5) knobs_.lost = true;
    return false;
  }));
  EXPECT_EQ(answered, "cpu");
  ASSERT_EQ(logged.size(), 2u);  // it is lost in the middle of a fit
  EXPECT_EQ(logged.back(), "backend 'cuda' cannot cluster: fake: lost");
}

TEST_F(DeviceAnalysisTest, AnInterruptStopsAFitWhereverItIs) {
  make();
  const ModelPtr m = model(1000, 30, Rows::kGaussian);
  for (const int allowed : {0, 1, 2, 5, 20}) {
    int asked = 0;
    auto stopped = fit(PointSet::first_rows(m, 1000), 7, [&] { return ++asked > allowed; });
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
    EXPECT_EQ(knobs_.allocated, 0);
  }
  expect_hosts_fit(PointSet::first_rows(m, 1000), 7);
}

TEST_F(DeviceAnalysisTest, TheHostComputesWhatTheDeviceDoesNot) {
  make();
  const ModelPtr m = model(20, static_cast<int64_t>(gpu::kMaxBatchDims) + 1, Rows::kGaussian);
  expect_hosts_fit(PointSet::first_rows(m, 20), 3);
  EXPECT_EQ(knobs_.passes, 0);
  std::vector<double> sums(static_cast<size_t>(m->dims()));
  std::vector<double> wanted(sums.size());
  const PointSet set = PointSet::first_rows(m, 20);
  ASSERT_TRUE(backend().analysis()->column_sums(set.points(), {}, sums, {}).ok());
  ASSERT_TRUE(host_analysis_->column_sums(set.points(), {}, wanted, {}).ok());
  EXPECT_EQ(sums, wanted);
}

}  // namespace
}  // namespace glove::testing
