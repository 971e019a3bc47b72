// Every failure of a device is an error value, and 'auto' continues with the CPU.
#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/backend/cuda_backend.h"
#include "tests/gpu/cuda_support.h"
#include "tests/search/reference.h"

namespace glove::testing {
namespace {

// One device, because a model that does not fit there may fit on two.
class CudaFaults : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    ASSERT_TRUE(IsSkipped() || engine().settings().set("devices", "0").ok());
  }
  void TearDown() override { static_cast<void>(engine().settings().set("devices", "all")); }
};

// 'cuda' fails with kUnavailable and a message with `words`; 'auto' returns the CPU's rows.
void expect_refused(const ModelPtr& model, const Query& query, const std::string& words) {
  SearchReport report;
  const auto named =
      nearest(searchers_of(model), std::span(&query, 1), 10, SearchOptions{"cuda", {}}, report);
  ASSERT_FALSE(named.ok());
  EXPECT_EQ(named.error().code, ErrorCode::kUnavailable) << named.error().message;
  EXPECT_NE(named.error().message.find(words), std::string::npos) << named.error().message;
  const auto automatic =
      nearest(searchers_of(model), std::span(&query, 1), 10, SearchOptions{"auto", {}}, report);
  ASSERT_TRUE(automatic.ok()) << automatic.error().message;
  EXPECT_EQ(report.backend, "cpu");
  EXPECT_EQ(difference(automatic.value()[0], rows_by("cpu", model, {query}, 10)[0]), "");
  EXPECT_EQ(info_of(model).state.substr(0, 7), "failed:");
}

TEST_F(CudaFaults, ALimitThatIsTooSmall) {
  const ModelPtr model = large_model(random_(), 100000, 100);
  const Query query = query_of(random_vector(random_, 100, Rows::kGaussian));
  ASSERT_TRUE(engine().settings().set("gpu_memory", "1M").ok());
  expect_refused(model, query, "device memory");
  ASSERT_TRUE(engine().settings().set("gpu_memory", "0").ok());
  EXPECT_EQ(difference(rows_by("cuda", model, {query}, 10)[0], rows_by("cpu", model, {query}, 10)[0]), "");
  forget(model);
}

TEST_F(CudaFaults, ALimitThatHoldsTheCodesOnly) {
  const ModelPtr model = large_model(random_(), 100000, 100);
  const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 40);
  ASSERT_TRUE(engine().settings().set("gpu_memory", "20M").ok());  // codes 10.8 MB, vectors 40.8 MB
  for (const int64_t k : {1, 10, 1000}) expect_equal_rows(model, queries, k);
  EXPECT_LT(info_of(model).device_bytes, 20 << 20);
  expect_equal_rows(model, {queries[0]}, model->words());  // every row, scored on the host
  ASSERT_TRUE(engine().settings().set("gpu_memory", "0").ok());
  forget(model);
}

TEST_F(CudaFaults, MemoryThatAnotherAllocationHolds) {
  const ModelPtr model = large_model(random_(), 200000, 300);
  const Query query = query_of(random_vector(random_, 300, Rows::kGaussian));
  rows_by("cuda", large_model(random_(), 100, 300), {query}, 1);  // allocates the scratch memory
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  std::vector<void*> held;
  for (size_t piece = free; piece >= (size_t{16} << 20);) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, piece) == cudaSuccess)
      held.push_back(memory);
    else
      piece /= 2;
  }
  static_cast<void>(cudaGetLastError());
  expect_refused(model, query, "memory");
  for (void* memory : held) cudaFree(memory);
  // Nothing half-uploaded remained, and now the model fits.
  EXPECT_EQ(difference(rows_by("cuda", model, {query}, 10)[0], rows_by("cpu", model, {query}, 10)[0]), "");
  forget(model);
}

TEST_F(CudaFaults, MemoryIsFreedOnRelease) {
  const ModelPtr warm = large_model(random_(), 100000, 300);
  const Query query = query_of(random_vector(random_, 300, Rows::kGaussian));
  const auto cycle = [&] {
    rows_by("cuda", warm, {query}, 10);
    forget(warm);
    size_t free = 0;
    size_t total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  };
  const size_t after_first = cycle();
  for (int i = 0; i < 4; ++i) cycle();
  EXPECT_EQ(cycle(), after_first);
}

// A child gets an error and does not crash, and the parent continues.
TEST_F(CudaFaults, AForkedChild) {
  const ModelPtr model = large_model(random_(), 1000, 50);
  const Query query = query_of(random_vector(random_, 50, Rows::kGaussian));
  rows_by("cuda", model, {query}, 10);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    SearchReport report;
    const auto named =
        nearest(searchers_of(model), std::span(&query, 1), 10, SearchOptions{"cuda", {}}, report);
    const bool refused = !named.ok() && named.error().message.find("fork") != std::string::npos;
    forget(model);
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(rows_by("cuda", model, {query}, 10)[0].size(), 10u);
}

// Runs in a new process, because the driver reads the variable once.
TEST(CudaWithoutDevice, SaysSo) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    const auto backend = make_cuda_backend(engine().settings(), engine().log());
    const Status status = backend->available();
    const bool named = !status.ok() && status.error().code == ErrorCode::kUnavailable &&
                       (status.error().message.find("driver") != std::string::npos);
    _exit(named ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace glove::testing
