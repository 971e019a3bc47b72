// The backend on a device made of host memory: uploads, limits, failures, sharing.
#include "gpu/device_backend.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include "base/float_environment.h"
#include "cpu/cpu_backend.h"
#include "gpu/plan.h"
#include "model/exact_dot.h"
#include "tests/gpu/fake_device.h"
#include "tests/loader/random.h"
#include "tests/search/random_model.h"
#include "tests/search/reference.h"

namespace glove::testing {
namespace {

class DeviceBackendTest : public ::testing::Test {
 protected:
  std::unique_ptr<Backend> make() {
    return gpu::make_device_backend(
        [this]() -> Result<std::unique_ptr<gpu::Device>> {
          ++opened_;
          if (!open_error_.empty()) return Error{ErrorCode::kUnavailable, open_error_};
          return std::unique_ptr<gpu::Device>(std::make_unique<FakeDevice>(knobs_));
        },
        [this]() -> Result<int64_t> { return limit_.load(); });
  }

  ModelPtr model(int64_t words = 1000, int64_t dims = 30, Rows kind = Rows::kMixed) {
    return random_model(random_, words, dims, kind);
  }

  Query query(const Model& model) {
    Query query;
    query.vector = random_vector(random_, model.dims(), Rows::kGaussian);
    query.norm_squared = exact_dot(query.vector.data(), query.vector.data(), model.dims());
    return query;
  }

  // The k best of what the backend proposes, and the reference, agree.
  void expect_right(Backend& backend, const ModelPtr& model, int64_t k = 10) {
    std::vector<Query> queries;
    for (int i = 0; i < 3; ++i) queries.push_back(query(*model));
    queries[1].excluded = {0, 7, 9};
    ScanCost cost;
    const auto proposed = backend.propose(model, queries, k, {}, cost);
    ASSERT_TRUE(proposed.ok()) << proposed.error().message;
    for (size_t i = 0; i < queries.size(); ++i) {
      const auto wanted = reference_relation(*model, queries[i]);
      std::vector<Neighbor> rows;
      const Candidates& candidates = proposed.value()[i];
      for (size_t c = 0; c < candidates.ids.size(); ++c) {
        const int32_t id = candidates.ids[c];
        const auto& excluded = queries[i].excluded;
        if (std::find(excluded.begin(), excluded.end(), id) != excluded.end()) continue;
        const double dot = exact_dot(queries[i].vector.data(), model->vector(id), model->dims());
        rows.push_back({id, candidates.similarities.empty()
                                ? cosine_from_dots(dot, queries[i].norm_squared, model->norm_squared(id))
                                : candidates.similarities[c]});
      }
      std::sort(rows.begin(), rows.end(), ranks_before);
      const auto kept = std::min(static_cast<size_t>(k), wanted.size());
      ASSERT_GE(rows.size(), kept);
      EXPECT_EQ(difference(std::span(rows).first(kept), std::span(wanted).first(kept)), "");
    }
  }

  ScopedFloatEnvironment float_environment_;
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "GLOVE_TEST_SEED=" + std::to_string(test_seed())};
  std::mt19937_64 random_ = random_source();
  FakeDevice::Knobs knobs_;
  std::atomic<int64_t> limit_{0};
  std::atomic<int> opened_{0};
  std::string open_error_;
};

TEST_F(DeviceBackendTest, UploadsEveryByteWhateverTheSize) {
  const auto backend = make();
  for (const int64_t words : {1, 31, 32, 33, 500, 2049}) {
    const ModelPtr m = model(words, 1 + static_cast<int64_t>(random_() % 40), Rows::kGaussian);
    ASSERT_TRUE(backend->prepare(m, {}).ok());
    expect_right(*backend, m, 5);
    backend->release(*m);
    EXPECT_EQ(knobs_.allocated, 0);
  }
}

TEST_F(DeviceBackendTest, EveryKindOfModel) {
  const auto backend = make();
  for (const Rows kind : kAllRows) {
    const ModelPtr m = model(400, 20, kind);
    ASSERT_TRUE(backend->prepare(m, {}).ok());
    for (const int64_t k : {1, 10, 400}) expect_right(*backend, m, k);
  }
}

TEST_F(DeviceBackendTest, ReadsAFileRatherThanItsMap) {
  const ModelPtr heap = model(3000, 25, Rows::kGaussian);
  const ModelArrays& arrays = heap->arrays();
  const std::string path = ::testing::TempDir() + "glove-upload-" + std::to_string(getpid());
  std::ofstream file(path, std::ios::binary);
  Model::Source source;
  source.path = path;
  const auto append = [&](auto span) {
    const FileExtent extent{static_cast<int64_t>(file.tellp()), static_cast<int64_t>(span.size_bytes())};
    file.write(reinterpret_cast<const char*>(span.data()), static_cast<std::streamsize>(span.size_bytes()));
    return extent;
  };
  file << "header";
  source.vectors = append(arrays.vectors);
  source.norms_squared = append(arrays.norms_squared);
  source.codes = append(arrays.codes);
  source.scales = append(arrays.scales);
  source.residuals = append(arrays.residuals);
  file.close();
  std::FILE* opened = std::fopen(path.c_str(), "rb");
  source.descriptor = fileno(opened);
  const auto from_file = std::make_shared<Model>(arrays, source, heap);
  const auto backend = make();
  ASSERT_TRUE(backend->prepare(from_file, {}).ok());
  expect_right(*backend, from_file);

  // Cut the file: the error says where it ends, and nothing stays on the device.
  const auto cut = std::make_shared<Model>(arrays, source, heap);
  backend->release(*from_file);
  ASSERT_EQ(truncate(path.c_str(), source.codes.offset + 100), 0);
  const Status status = backend->prepare(cut, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_NE(status.error().message.find(path), std::string::npos) << status.error().message;
  EXPECT_EQ(knobs_.allocated, 0);
  std::fclose(opened);
  std::remove(path.c_str());
}

TEST_F(DeviceBackendTest, NoDevice) {
  open_error_ = "there is no NVIDIA driver on this machine";
  const auto backend = make();
  for (int i = 0; i < 3; ++i) {
    const Status status = backend->available();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(status.error().message, open_error_);
  }
  EXPECT_EQ(opened_, 1);
  EXPECT_FALSE(backend->prepare(model(), {}).ok());
  EXPECT_EQ(backend->residency(*model()).state, "not loaded");
}

TEST_F(DeviceBackendTest, ALimitTooSmallNamesTheNumbersAndALargerOneHelps) {
  const auto backend = make();
  const ModelPtr m = model(5000, 40);
  limit_ = 10000;
  const Status refused = backend->prepare(m, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_NE(refused.error().message.find("1 MB"), std::string::npos) << refused.error().message;
  EXPECT_EQ(backend->residency(*m).state, "failed: " + refused.error().message);
  EXPECT_EQ(knobs_.allocated, 0);
  limit_ = 0;
  ASSERT_TRUE(backend->prepare(m, {}).ok());
  EXPECT_EQ(backend->residency(*m).state, "resident");
  expect_right(*backend, m);
}

TEST_F(DeviceBackendTest, VectorsStayOnTheHostIfTheyDoNotFit) {
  const auto backend = make();
  const ModelPtr m = model(5000, 40, Rows::kGaussian);
  const gpu::MemoryPlan plan = gpu::plan_memory(5000, 40);
  limit_ = plan.scan_bytes() + 1000;
  ASSERT_TRUE(backend->prepare(m, {}).ok());
  EXPECT_EQ(backend->residency(*m).device_bytes, plan.scan_bytes());
  expect_right(*backend, m);
  std::vector<double> dots(5000);
  ScanCost cost;
  const Query q = query(*m);
  ASSERT_TRUE(backend->score_all(m, q, dots, {}, cost).ok());
  for (int64_t row = 0; row < 5000; ++row)
    ASSERT_EQ(dots[static_cast<size_t>(row)], exact_dot(q.vector.data(), m->vector(row), 40));
  EXPECT_FALSE(backend
                   ->score_all(
                       m, q, dots, [] { return true; }, cost)
                   .ok());
}

TEST_F(DeviceBackendTest, TheLimitCountsAllModels) {
  const auto backend = make();
  const ModelPtr first = model(5000, 40);
  const ModelPtr second = model(5000, 40);
  const gpu::MemoryPlan plan = gpu::plan_memory(5000, 40);
  limit_ = plan.scan_bytes() * 3 / 2;
  ASSERT_TRUE(backend->prepare(first, {}).ok());
  EXPECT_FALSE(backend->prepare(second, {}).ok());
  backend->release(*first);
  EXPECT_TRUE(backend->prepare(second, {}).ok());
}

TEST_F(DeviceBackendTest, AFullDevice) {
  const auto backend = make();
  knobs_.total_bytes = 1000;
  const Status status = backend->prepare(model(), {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemory);
  EXPECT_TRUE(backend->available().ok());  // full, not lost
}

TEST_F(DeviceBackendTest, NoPinnedMemory) {
  const auto backend = make();
  knobs_.ring_missing = true;
  EXPECT_EQ(backend->prepare(model(), {}).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(knobs_.allocated, 0);
}

TEST_F(DeviceBackendTest, AFailedCopyLeavesNothingBehind) {
  for (const int works : {0, 1, 5}) {
    const auto backend = make();
    knobs_.fail_copies_after = works;
    const ModelPtr m = model(5000, 40);
    EXPECT_FALSE(backend->prepare(m, {}).ok());
    EXPECT_EQ(knobs_.allocated, 0);
    EXPECT_FALSE(backend->available().ok());  // a copy that fails means a lost device
    knobs_.fail_copies_after = -1;
  }
}

TEST_F(DeviceBackendTest, AnInterruptStopsAnUpload) {
  const auto backend = make();
  const ModelPtr m = model(5000, 40);
  int asked = 0;
  EXPECT_EQ(backend->prepare(m, [&] { return ++asked == 3; }).error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(knobs_.allocated, 0);
  EXPECT_EQ(backend->residency(*m).state, "not loaded");
  ASSERT_TRUE(backend->prepare(m, {}).ok());
  expect_right(*backend, m);
}

// The check may run the host's code, a progress handler, which may search itself.
TEST_F(DeviceBackendTest, AnInterruptCheckMayComeBack) {
  const auto backend = make();
  const ModelPtr first = model(5000, 40);
  const ModelPtr second = model(100, 10);
  int refused = 0;
  ASSERT_TRUE(backend
                  ->prepare(first,
                            [&] {
                              for (const ModelPtr& m : {first, second})
                                refused +=
                                    backend->prepare(m, {}).error().code == ErrorCode::kInvalidArgument;
                              return false;
                            })
                  .ok());
  EXPECT_GT(refused, 2);
  ASSERT_TRUE(backend->prepare(second, {}).ok());
  expect_right(*backend, first);
  expect_right(*backend, second);
}

TEST_F(DeviceBackendTest, OneThatWaitsForAnotherUploadCanBeInterrupted) {
  const auto backend = make();
  const ModelPtr first = model(5000, 40);
  const ModelPtr second = model(100, 10);
  std::atomic<bool> uploading{false};
  std::atomic<bool> go_on{false};
  std::thread slow([&] {
    EXPECT_TRUE(backend
                    ->prepare(first,
                              [&] {
                                uploading = true;
                                while (!go_on) std::this_thread::yield();
                                return false;
                              })
                    .ok());
  });
  while (!uploading) std::this_thread::yield();
  EXPECT_EQ(backend->residency(*first).state, "uploading");
  for (const ModelPtr& m : {first, second}) {
    int asked = 0;
    EXPECT_EQ(backend->prepare(m, [&] { return ++asked == 3; }).error().code, ErrorCode::kInterrupted);
  }
  go_on = true;
  slow.join();
  ASSERT_TRUE(backend->prepare(second, {}).ok());
  expect_right(*backend, first);
}

TEST_F(DeviceBackendTest, TheLimitHoldsForUploadsAtOnce) {
  const gpu::MemoryPlan plan = gpu::plan_memory(500, 20);
  const std::vector<ModelPtr> models = {model(500, 20), model(500, 20), model(500, 20)};
  const auto backend = make();
  limit_ = plan.scan_bytes() * 3 / 2;
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> fitted{0};
    std::vector<std::thread> threads;
    for (const ModelPtr& m : models) threads.emplace_back([&] { fitted += backend->prepare(m, {}).ok(); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(fitted, 1);
    for (const ModelPtr& m : models) backend->release(*m);
  }
}

TEST_F(DeviceBackendTest, ALostDeviceStaysLost) {
  const auto backend = make();
  const ModelPtr m = model();
  ASSERT_TRUE(backend->prepare(m, {}).ok());
  knobs_.lost = true;
  const Query q = query(*m);
  ScanCost cost;
  EXPECT_EQ(backend->propose(m, std::span(&q, 1), 5, {}, cost).error().code, ErrorCode::kUnavailable);
  knobs_.lost = false;
  EXPECT_EQ(backend->available().error().message, "fake: lost");
  EXPECT_EQ(backend->residency(*m).state, "failed: fake: lost");
  EXPECT_FALSE(backend->propose(m, std::span(&q, 1), 5, {}, cost).ok());
  backend->release(*m);
}

TEST_F(DeviceBackendTest, ManyThreadsUploadOnceAndSearchTogether) {
  const auto backend = make();
  const ModelPtr m = model(3000, 20, Rows::kGaussian);
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      const ScopedFloatEnvironment float_environment;
      Query q;
      q.vector.assign(m->vector(3), m->vector(3) + 20);
      q.norm_squared = m->norm_squared(3);
      for (int i = 0; i < 20; ++i) {
        ScanCost cost;
        if (!backend->prepare(m, {}).ok() || !backend->propose(m, std::span(&q, 1), 5, {}, cost).ok())
          ++failures;
        if (i % 7 == 6) backend->release(*m);
        static_cast<void>(backend->residency(*m));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  backend->release(*m);
  EXPECT_EQ(knobs_.allocated, 0);
}

TEST_F(DeviceBackendTest, AForkedChildIsRefused) {
  const auto backend = make();
  const ModelPtr m = model();
  ASSERT_TRUE(backend->prepare(m, {}).ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Status status = backend->available();
    backend->release(*m);
    _exit(!status.ok() && status.error().code == ErrorCode::kUnavailable ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(backend->available().ok());
}

TEST_F(DeviceBackendTest, AnInterruptStopsASearch) {
  const auto backend = make();
  const ModelPtr m = model();
  ASSERT_TRUE(backend->prepare(m, {}).ok());
  const Query q = query(*m);
  ScanCost cost;
  const auto stopped = backend->propose(
      m, std::span(&q, 1), 5, [] { return true; }, cost);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
  EXPECT_TRUE(backend->available().ok());
  expect_right(*backend, m);
}

}  // namespace
}  // namespace glove::testing
