// Several real devices. Each test skips, with the reason, where there are fewer than two.
#include <thread>

#include "gpu/backend/cuda_device.h"
#include "tests/gpu/cuda_support.h"
#include "tests/gpu/lost_device.h"
#include "tests/search/reference.h"

namespace glove::testing {
namespace {

class CudaDevices : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    const Result<int> count = gpu::count_cuda_devices();
    ASSERT_TRUE(count.ok()) << count.error().message;
    devices_ = count.value();
    if (devices_ < 2) GTEST_SKIP() << "one GPU; these tests need two";
  }
  void TearDown() override { static_cast<void>(engine().settings().set("devices", "all")); }

  static void choose(const std::string& devices) {
    const Status status = engine().settings().set("devices", devices);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }

  // Large enough for two devices: 2 * kLeastSliceBytes of codes, and a bit.
  ModelPtr spread_model() { return large_model(random_(), 1'400'003, 100); }

  int devices_ = 0;
};

TEST_F(CudaDevices, EachAloneAndTogetherAnswerAsTheCpu) {
  const ModelPtr model = spread_model();
  const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 24);
  for (const std::string devices : {"0", "1", "0,1"}) {
    choose(devices);
    for (int pass = 0; pass < 2; ++pass) {  // before and, perhaps, after the vectors are there
      expect_equal_rows(model, queries, 10);
      for (const int64_t k : {int64_t{1}, int64_t{100}, int64_t{3000}})
        for (size_t i = 0; i < 4; ++i) expect_equal_rows(model, {queries[i]}, k);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    const SearcherInfo info = info_of(model);
    EXPECT_EQ(info.state, "resident");
    EXPECT_EQ(info.device.find("2 x ") == 0 || info.device.find(" + ") != std::string::npos, devices == "0,1")
        << info.device;
    forget(model);
  }
}

TEST_F(CudaDevices, ManyThreadsAtOnce) {
  const ModelPtr model = spread_model();
  const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 16);
  const auto wanted = rows_by("cpu", model, queries, 10);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 40; ++i) {
        const size_t at = (t + i) % queries.size();
        const auto got = i % 8 == 7 ? rows_by("cuda", model, queries, 10)[at]
                                    : rows_by("cuda", model, {queries[at]}, 10)[0];
        EXPECT_EQ(difference(got, wanted[at]), "");
      }
    });
  for (std::thread& thread : threads) thread.join();
  forget(model);
}

TEST_F(CudaDevices, TheLastOneIsUsedAlone) {
  choose(std::to_string(devices_ - 1));
  const ModelPtr model = large_model(random_(), 20000, 64);
  expect_equal_rows(model, random_queries(random_, *model, Rows::kGaussian, 20), 10);
  EXPECT_EQ(info_of(model).state, "resident");
  forget(model);
}

// Each a program of its own, as ctest runs tests, because the device stays lost.
class CudaDevicesLost : public CudaDevices, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Either, CudaDevicesLost, ::testing::Values(0, 1));

// CUDA reports such an error to every device of the process.
TEST_P(CudaDevicesLost, AutoStillAnswers) {
  const ModelPtr model = spread_model();
  const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 12);
  choose("0,1");
  expect_equal_rows(model, queries, 10);
  const auto wanted = rows_by("cpu", model, queries, 10);
  lose_the_device(GetParam());
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t i = 0; i < queries.size(); ++i) {
      const auto got = rows_by("auto", model, {queries[i]}, 10);
      EXPECT_EQ(difference(got[0], wanted[i]), "");
    }
    const auto got = rows_by("auto", model, queries, 10);
    for (size_t i = 0; i < queries.size(); ++i) EXPECT_EQ(difference(got[i], wanted[i]), "");
    EXPECT_TRUE(pass > 0 || info_of(model).state.find("failed: ") != std::string::npos);
    forget(model);
  }
}

}  // namespace
}  // namespace glove::testing
