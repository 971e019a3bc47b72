// Timings of the CUDA backend on random unit vectors; one JSON object on stdout.
//
//   gpu_bench [--words 2196016] [--dims 300] [--queries 200] [--variants [--file FILE]] [--kernels]
//   [--batches]
//
// --kernels times nothing but the kernels for one query, and --batches nothing but batches.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/float_environment.h"
#include "bench/gpu/kernel_bench.h"
#include "bench/gpu/timing.h"
#include "gpu/backend/cuda_device.h"
#include "gpu/layout/plan.h"
#include "gpu/layout/query_codes.h"
#include "gpu/residency/upload.h"
#include "tests/gpu/cuda_support.h"
#include "tests/search/reference.h"

namespace {

using namespace glove;
using namespace glove::bench;
using namespace glove::testing;

// GB/s of a copy from pinned memory.
double pinned_bandwidth() {
  constexpr size_t kBytes = size_t{256} << 20;
  void* host = nullptr;
  void* device = nullptr;
  require(cudaHostAlloc(&host, kBytes, cudaHostAllocDefault), "pinned memory");
  require(cudaMalloc(&device, kBytes), "device memory");
  std::memset(host, 1, kBytes);
  double best = 0;
  for (int i = 0; i < 6; ++i) {
    const auto start = Clock::now();
    require(cudaMemcpy(device, host, kBytes, cudaMemcpyHostToDevice), "copy");
    best = std::max(best, static_cast<double>(kBytes) / us_since(start) * 1e-3);
  }
  cudaFree(device);
  cudaFreeHost(host);
  return best;
}

// Times nearest() on one query at a time: wall clock and the stages.
void time_single(const ModelPtr& model, const std::vector<Query>& queries, int64_t k) {
  std::vector<double> wall, scan, select, rescore, candidates;
  for (size_t i = 0; i < queries.size() + 20; ++i) {
    SearchReport report;
    const auto start = Clock::now();
    const auto rows = nearest(searchers_of(model), std::span(&queries[i % queries.size()], 1), k,
                              SearchOptions{"cuda", {}}, report);
    const double us = us_since(start);
    if (!rows.ok()) {
      std::fprintf(stderr, "%s\n", rows.error().message.c_str());
      std::exit(1);
    }
    if (i < 20) continue;
    wall.push_back(us);
    scan.push_back(report.cost.scan_us);
    select.push_back(report.cost.select_us);
    rescore.push_back(report.cost.rescore_us);
    candidates.push_back(static_cast<double>(report.cost.candidates));
  }
  const std::string key = "k" + std::to_string(k);
  put(key + "_us", wall);
  put(key + "_scan_us", spread_of(scan).median);
  put(key + "_select_us", spread_of(select).median);
  put(key + "_rescore_us", spread_of(rescore).median);
  put(key + "_candidates", spread_of(candidates).median);
}

void time_batch(const ModelPtr& model, const std::vector<Query>& queries, int64_t k) {
  std::vector<double> wall, scan, select, rescore, candidates;
  for (int i = 0; i < 14; ++i) {
    SearchReport report;
    const auto start = Clock::now();
    const auto rows = nearest(searchers_of(model), queries, k, SearchOptions{"cuda", {}}, report);
    if (!rows.ok()) std::exit(1);
    if (i < 4) continue;
    wall.push_back(us_since(start));
    scan.push_back(report.cost.scan_us);
    select.push_back(report.cost.select_us);
    rescore.push_back(report.cost.rescore_us);
    candidates.push_back(static_cast<double>(report.cost.candidates));
  }
  const std::string key = "batch" + std::to_string(queries.size()) + "_k" + std::to_string(k);
  std::vector<int8_t> fragments(
      static_cast<size_t>(gpu::fragment_bytes(static_cast<int64_t>(queries.size()), model->dims())));
  const auto start = Clock::now();
  for (size_t i = 0; i < queries.size(); ++i)
    gpu::pack_fragments(gpu::quantize_for_batch(queries[i]).codes, static_cast<int64_t>(i), model->dims(),
                        fragments.data());
  put(key + "_pack_us", us_since(start));
  put(key + "_us", wall);
  put(key + "_scan_us", spread_of(scan).median);
  put(key + "_select_us", spread_of(select).median);
  put(key + "_rescore_us", spread_of(rescore).median);
  put(key + "_candidates", spread_of(candidates).median);
}

// GB/s of the upload by the number of threads, from memory and from a file in the page cache.
void time_upload(const ModelPtr& model, const char* path) {
  auto device = gpu::open_cuda_device(0);
  if (!device.ok()) std::exit(1);
  const std::atomic<bool> cancelled{false};
  const auto bytes = static_cast<int64_t>(model->parts().front().level(8).codes.size());
  auto block = device.value()->allocate(bytes);
  if (!block.ok()) std::exit(1);
  gpu::CopyTask task;
  task.bytes = bytes;
  std::FILE* file = path != nullptr ? std::fopen(path, "rb") : nullptr;
  for (const bool from_file : {false, true}) {
    if (from_file && file == nullptr) break;
    task.memory = from_file
                      ? nullptr
                      : reinterpret_cast<const std::byte*>(model->parts().front().level(8).codes.data());
    task.descriptor = from_file ? fileno(file) : -1;
    for (const int threads : {2, 4, 6, 8, 10, 12, 14}) {
      std::vector<double> rates;
      for (int i = 0; i < 6; ++i) {
        const auto start = Clock::now();
        const auto upload = gpu::Upload::start(*device.value(), {task}, threads, "bench", cancelled);
        if (!upload.ok() || !upload.value()->copy_to(block.value().data()).ok()) std::exit(1);
        if (i > 0) rates.push_back(static_cast<double>(bytes) / us_since(start) * 1e-3);
      }
      put(std::string("upload_") + (from_file ? "file_" : "memory_") + std::to_string(threads) + "_gb_s",
          spread_of(rates).median);
    }
  }
  if (file != nullptr) std::fclose(file);
}

size_t different_answers(const ModelPtr& model, const std::vector<Query>& queries, int64_t k) {
  const auto wanted = rows_by("cpu", model, queries, k);
  const auto got = rows_by("cuda", model, queries, k);
  size_t wrong = 0;
  for (size_t i = 0; i < queries.size(); ++i) {
    wrong += difference(got[i], wanted[i]).empty() ? 0 : 1;
    wrong += difference(rows_by("cuda", model, {queries[i]}, k)[0], wanted[i]).empty() ? 0 : 1;
  }
  return wrong;
}

std::vector<Query> unit_queries(std::mt19937_64& random, const Model& model, size_t count) {
  std::vector<Query> queries = random_queries(random, model, Rows::kGaussian, count);
  return queries;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t words = 2196016;
  int64_t dims = 300;
  size_t count = 200;
  bool variants = false;
  bool kernels_only = false;
  bool batches_only = false;
  const char* upload_file = nullptr;
  for (int i = 1; i < argc; ++i) {
    const auto number = [&] { return i + 1 < argc ? std::atoll(argv[++i]) : 0; };
    if (std::strcmp(argv[i], "--words") == 0) words = number();
    if (std::strcmp(argv[i], "--dims") == 0) dims = number();
    if (std::strcmp(argv[i], "--queries") == 0) count = static_cast<size_t>(number());
    if (std::strcmp(argv[i], "--variants") == 0) variants = true;
    if (std::strcmp(argv[i], "--kernels") == 0) kernels_only = true;
    if (std::strcmp(argv[i], "--batches") == 0) batches_only = true;
    if (std::strcmp(argv[i], "--file") == 0 && i + 1 < argc) upload_file = argv[++i];
  }
  const ScopedFloatEnvironment float_environment;
  std::mt19937_64 random(test_seed());
  std::printf("{");
  put("words", static_cast<double>(words));
  put("dims", static_cast<double>(dims));
  put("seed", static_cast<double>(test_seed()));
  const Status available = backend_named("cuda").available();
  if (!available.ok()) {
    std::fprintf(stderr, "%s\n", available.error().message.c_str());
    return 1;
  }
  put("pinned_gb_s", pinned_bandwidth());
  const ModelPtr warm = large_model(1, 200000, dims);
  rows_by("cuda", warm, {query_of({warm->vector(0), warm->vector(0) + dims})}, 10);
  forget(warm);
  auto start = Clock::now();
  const ModelPtr model = large_model(test_seed(), words, dims);
  put("generate_s", us_since(start) * 1e-6);
  const std::vector<Query> queries = unit_queries(random, *model, 1024);
  if (kernels_only) {
    const size_t wrong = time_kernels(model, queries);
    std::printf("\n}\n");
    return wrong == 0 ? 0 : 1;
  }
  start = Clock::now();
  if (const Status status = searchers_of(model).open(0, {}).status(); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
  put("prepare_ms", us_since(start) * 1e-3);
  const double scan_bytes = static_cast<double>(gpu::plan_memory(words, dims).scan_bytes);
  put("prepare_gb_s", scan_bytes / us_since(start) * 1e-3);
  rows_by("cuda", model, {queries[0]}, 10);
  put("first_answer_ms", us_since(start) * 1e-3);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  put("device", info_of(model).device);

  const std::vector<Query> singles(queries.begin(), queries.begin() + static_cast<ptrdiff_t>(count));
  if (!batches_only)
    for (const int64_t k : {1, 10, 100, 1000, 5000}) time_single(model, singles, k);
  for (const size_t batch : {2u, 8u, 32u, 128u, 1024u})
    time_batch(model, {queries.begin(), queries.begin() + static_cast<ptrdiff_t>(batch)}, 10);
  time_batch(model, queries, 100);
  size_t wrong = 0;
  for (const int64_t k : {1, 10, 100, 1000})
    wrong += different_answers(model, {queries.begin(), queries.begin() + 16}, k);
  put("different_answers", static_cast<double>(wrong));
  if (variants) wrong += time_kernels(model, singles);
  if (variants) time_upload(model, upload_file);
  std::printf("\n}\n");
  return wrong == 0 ? 0 : 1;
}
