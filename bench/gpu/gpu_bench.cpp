// Timings of the CUDA backend on random unit vectors; one JSON object on stdout.
//
//   gpu_bench [--words 2196016] [--dims 300] [--queries 200] [--variants [--file FILE]]
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
#include "gpu/cuda_device.h"
#include "gpu/kernels/single_scan.h"
#include "gpu/plan.h"
#include "gpu/query_codes.h"
#include "gpu/upload.h"
#include "tests/gpu/cuda_support.h"
#include "tests/search/reference.h"

namespace {

using namespace glove;
using namespace glove::testing;
using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

struct Spread {
  double median, low, high;
};

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values[values.size() / 10], values[values.size() * 9 / 10]};
}

bool first_field = true;

void put(const std::string& key, double value) {
  std::printf("%s\n  \"%s\": %.6g", first_field ? "" : ",", key.c_str(), value);
  first_field = false;
}

void put(const std::string& key, const std::string& value) {
  std::printf("%s\n  \"%s\": \"%s\"", first_field ? "" : ",", key.c_str(), value.c_str());
  first_field = false;
}

void put(const std::string& key, const std::vector<double>& values) {
  const Spread spread = spread_of(values);
  put(key + "_median", spread.median);
  put(key + "_p10", spread.low);
  put(key + "_p90", spread.high);
}

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

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

// The kernel alone, launched by hand on a copy of the arrays.
class KernelBench {
 public:
  explicit KernelBench(const ModelPtr& model) : model_(model) {
    const ModelPart& part = model->parts().front();
    const CodeLevel& level = part.level(8);
    rows_ = tile_count(part.rows) * kTileRows;
    part_.rows = part.rows;
    part_.dims = static_cast<int32_t>(part.dims);
    upload(&part_.level.codes, level.codes, level.codes.size_bytes());
    upload(&part_.level.scales, level.scales, static_cast<size_t>(rows_) * 4);
    upload(&part_.level.residuals, level.residuals, static_cast<size_t>(rows_) * 4);
    upload(&part_.vectors, part.vectors, part.vectors.size_bytes());
    upload(&part_.norms_squared, part.norms_squared, part.norms_squared.size_bytes());
    clear(&counters_, 2 * sizeof(gpu::ScanCounters));
    clear(&collected_, kCapacity * 12);
    require(cudaHostAlloc(reinterpret_cast<void**>(&answer_), kCapacity * 12 + 256, cudaHostAllocMapped),
            "pinned memory");
    std::memset(answer_, 0, kCapacity * 12 + 256);
    require(cudaStreamCreate(&stream_), "stream");
    for (auto& event : events_) require(cudaEventCreate(&event), "event");
  }

  void run(const std::string& key, const std::vector<Query>& queries, int64_t k, bool alternate,
           bool ranked) {
    gpu::ScanShape shape;
    require(gpu::single_scan_shape(0, model_->dims(), &shape), "shape");
    if (const int64_t bytes = gpu::row_upper_bytes(shape, rows_ / kTileRows);
        bytes > 0 && row_upper_ == nullptr)
      clear(&row_upper_, static_cast<size_t>(bytes));
    std::vector<double> total, scan, select, rescore;
    for (size_t i = 0; i < 60; ++i) {
      gpu::SingleScanParams launch = make(queries[i % queries.size()], k);
      launch.reversed = alternate && i % 2 != 0 ? 1 : 0;
      if (ranked) {
        launch.ranked_similarities = launch.similarities;
        launch.ranked_ids = launch.ids;
        launch.similarities = reinterpret_cast<double*>(collected_);
        launch.ids = reinterpret_cast<int32_t*>(collected_ + kCapacity * 8);
      }
      require(cudaEventRecord(events_[0], stream_), "event");
      require(gpu::launch_single_scan(launch, shape, stream_), "launch");
      require(cudaEventRecord(events_[1], stream_), "event");
      require(cudaStreamSynchronize(stream_), "scan");
      float ms = 0;
      require(cudaEventElapsedTime(&ms, events_[0], events_[1]), "event");
      if (i < 10) continue;
      const auto* done = reinterpret_cast<const gpu::ScanDone*>(answer_ + kCapacity * 12);
      total.push_back(ms * 1e3);
      scan.push_back(static_cast<double>(done->scan_ns) * 1e-3);
      select.push_back(static_cast<double>(done->times >> 16 & 0xffff) * gpu::kTimeUnit * 1e-3);
      rescore.push_back(static_cast<double>(done->times & 0xffff) * gpu::kTimeUnit * 1e-3);
    }
    put("kernel_" + key + "_us", total);
    put("kernel_" + key + "_scan_us", scan);
    put("kernel_" + key + "_select_us", spread_of(select).median);
    put("kernel_" + key + "_rescore_us", spread_of(rescore).median);
    const double bytes =
        static_cast<double>(model_->parts().front().level(8).codes.size()) + static_cast<double>(rows_) * 8;
    put("kernel_" + key + "_scan_tb_s", bytes / spread_of(scan).median * 1e-6);
  }

 private:
  static constexpr size_t kCapacity = 65536;

  template <class T>
  static void clear(T** device, size_t bytes) {
    require(cudaMalloc(reinterpret_cast<void**>(device), bytes), "device memory");
    require(cudaMemset(*device, 0, bytes), "clearing");
  }

  // Padded with zeros to `bytes`.
  template <class T>
  static void upload(const T** device, std::span<const T> from, size_t bytes) {
    T* copy = nullptr;
    clear(&copy, bytes);
    require(cudaMemcpy(copy, from.data(), from.size_bytes(), cudaMemcpyHostToDevice), "copy");
    *device = copy;
  }

  gpu::SingleScanParams make(const Query& query, int64_t k) {
    const QuantizedQuery quantized = quantize_query(query.vector, query.norm_squared, gpu::kTwoPlaneCode);
    gpu::SingleScanParams scan = {};
    scan.part = part_;
    scan.tiles = static_cast<int32_t>(tile_count(model_->words()));
    scan.groups = static_cast<int32_t>(component_groups(model_->dims()));
    scan.bound = quantized.bound;
    scan.norm_squared = query.norm_squared;
    scan.top_rows = static_cast<int32_t>(k);
    scan.sequence = ++sequence_;
    scan.counters = counters_ + (sequence_ & 1u);
    scan.next_counters = counters_ + ((sequence_ & 1u) ^ 1u);
    scan.row_upper = row_upper_;
    scan.capacity = kCapacity;
    scan.similarities = reinterpret_cast<double*>(answer_);
    scan.ids = reinterpret_cast<int32_t*>(answer_ + kCapacity * 8);
    scan.done = reinterpret_cast<gpu::ScanDone*>(answer_ + kCapacity * 12);
    gpu::pack_planes(quantized.codes, reinterpret_cast<int8_t*>(scan.query));
    std::memcpy(scan.query + gpu::query_floats_offset(model_->dims()), query.vector.data(),
                query.vector.size() * 4);
    return scan;
  }

  ModelPtr model_;
  int64_t rows_ = 0;
  gpu::DevicePart part_;
  gpu::ScanCounters* counters_ = nullptr;
  uint16_t* row_upper_ = nullptr;
  std::byte* collected_ = nullptr;
  std::byte* answer_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t events_[2] = {};
  uint32_t sequence_ = 0;
};

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
  const char* upload_file = nullptr;
  for (int i = 1; i < argc; ++i) {
    const auto number = [&] { return i + 1 < argc ? std::atoll(argv[++i]) : 0; };
    if (std::strcmp(argv[i], "--words") == 0) words = number();
    if (std::strcmp(argv[i], "--dims") == 0) dims = number();
    if (std::strcmp(argv[i], "--queries") == 0) count = static_cast<size_t>(number());
    if (std::strcmp(argv[i], "--variants") == 0) variants = true;
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
  start = Clock::now();
  if (const Status status = searchers_of(model).open(0, {}).status(); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
  put("prepare_ms", us_since(start) * 1e-3);
  const double scan_bytes = static_cast<double>(gpu::plan_memory(words, dims).scan_bytes());
  put("prepare_gb_s", scan_bytes / us_since(start) * 1e-3);
  rows_by("cuda", model, {queries[0]}, 10);
  put("first_answer_ms", us_since(start) * 1e-3);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  put("device", info_of(model).device);

  const std::vector<Query> singles(queries.begin(), queries.begin() + static_cast<ptrdiff_t>(count));
  for (const int64_t k : {1, 10, 100, 1000, 5000}) time_single(model, singles, k);
  for (const size_t batch : {2u, 8u, 32u, 128u, 1024u})
    time_batch(model, {queries.begin(), queries.begin() + static_cast<ptrdiff_t>(batch)}, 10);
  time_batch(model, queries, 100);
  size_t wrong = 0;
  for (const int64_t k : {1, 10, 100, 1000})
    wrong += different_answers(model, {queries.begin(), queries.begin() + 16}, k);
  put("different_answers", static_cast<double>(wrong));
  if (variants) {
    KernelBench kernel(model);
    kernel.run("one_way", singles, 10, false, false);
    kernel.run("alternate", singles, 10, true, false);
    for (const int64_t k : {10, 100, 1000, 5000}) {
      kernel.run("k" + std::to_string(k), singles, k, true, false);
      kernel.run("k" + std::to_string(k) + "_ranked", singles, k, true, true);
    }
  }
  if (variants) time_upload(model, upload_file);
  std::printf("\n}\n");
  return wrong == 0 ? 0 : 1;
}
