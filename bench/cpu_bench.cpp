// Compares the CPU backend's kernels with the memory bandwidth of the machine: bytes per second of a bare
// read of the bytes that a scan reads, and of the scan itself, for every instruction set.
//
//   GLOVE_BENCH_MODEL=model.safetensors build/cpu/bench/cpu_bench
//       --benchmark_enable_random_interleaving=true --benchmark_repetitions=9
//
// Without GLOVE_BENCH_MODEL it makes 341,479 random rows of 100 components in memory, or as many as
// GLOVE_BENCH_RANDOM says, such as 2196016x300.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "base/float_environment.h"
#include "base/thread_pool.h"
#include "bench/read_bytes.h"
#include "cpu/cpu_backend.h"
#include "loader/open.h"
#include "model/model_builder.h"

namespace {

using glove::Backend;
using glove::ModelPtr;
using glove::Query;

ModelPtr random_model() {
  const char* const shape = std::getenv("GLOVE_BENCH_RANDOM");
  long long rows = 341479;
  long long dims = 100;
  if (shape != nullptr && (std::sscanf(shape, "%lldx%lld", &rows, &dims) != 2 || rows < 1 || dims < 1)) {
    std::fprintf(stderr, "GLOVE_BENCH_RANDOM is '%s', but must be like 2196016x300\n", shape);
    std::exit(1);
  }
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  glove::ModelBuilder builder("random model");
  std::vector<float> row(static_cast<size_t>(dims));
  for (int64_t i = 0; i < rows; ++i) {
    for (float& value : row) value = normal(random);
    if (!builder.add(std::string("w").append(std::to_string(i)), row).ok()) std::exit(1);
  }
  return builder.finish().value();
}

const ModelPtr& model() {
  static const ModelPtr instance = [] {
    const char* path = std::getenv("GLOVE_BENCH_MODEL");
    if (path == nullptr) return random_model();
    auto opened = glove::open_model(path);
    if (opened.ok()) return opened.value();
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    std::exit(1);
  }();
  return instance;
}

std::vector<Query> some_queries(size_t count) {
  std::mt19937_64 random(2);
  std::vector<Query> queries;
  while (queries.size() < count) {
    const auto id =
        static_cast<int32_t>(random() % static_cast<uint64_t>(std::min<int64_t>(model()->words(), 50000)));
    if (model()->norm_squared(id) == 0) continue;
    const float* vector = model()->vector(id);
    queries.push_back({{vector, vector + model()->dims()}, model()->norm_squared(id), {id}});
  }
  return queries;
}

// Reads codes, scales and residuals once, divided among the threads as in a scan.
void bare_read(benchmark::State& state) {
  const glove::bench::ScannedBytes bytes(*model());
  for ([[maybe_unused]] auto _ : state) bytes.read(static_cast<int>(state.range(0)));
  state.SetBytesProcessed(state.iterations() * bytes.total());
}

void search(benchmark::State& state, const std::string& target, size_t count, int64_t k,
            glove::FirstLevel level = glove::FirstLevel::kFastest) {
  const auto backend = glove::make_cpu_backend(
      {.target = target, .threads = static_cast<int>(state.range(0)), .first_level = level});
  const auto searcher = backend->open(model(), {}).value();
  const std::vector<Query> queries = some_queries(std::max<size_t>(count, 64));
  std::vector<glove::SearchRequest> requests;
  const glove::ScopedFloatEnvironment environment;
  glove::ScanCost cost;
  size_t next = 0;
  for ([[maybe_unused]] auto _ : state) {
    const std::span<const Query> asked(&queries[next], count);
    next = next + 2 * count > queries.size() ? 0 : next + count;
    requests.assign(count, {});
    for (size_t i = 0; i < count; ++i) {
      requests[i].query = &asked[i];
      requests[i].k = k;
    }
    if (const glove::Status status = searcher->search(requests); !status.ok())
      state.SkipWithError(status.error().message.c_str());
    for (const glove::SearchRequest& request : requests) cost.add(request.cost);
  }
  state.SetBytesProcessed(cost.bytes_scanned);
  state.counters["candidates/query"] = static_cast<double>(cost.candidates) /
                                       static_cast<double>(state.iterations()) / static_cast<double>(count);
  state.counters["rescore_us"] = cost.rescore_us / static_cast<double>(state.iterations());
}

void score_all(benchmark::State& state, const std::string& target) {
  const auto backend =
      glove::make_cpu_backend({.target = target, .threads = static_cast<int>(state.range(0))});
  const Query query = some_queries(1)[0];
  const auto searcher = backend->open(model(), {}).value();
  const glove::ScopedFloatEnvironment environment;
  std::vector<double> dots(static_cast<size_t>(model()->words()));
  for ([[maybe_unused]] auto _ : state) {
    glove::ScanCost cost;
    if (!searcher->score_all(query, dots, {}, cost).ok()) state.SkipWithError("score_all failed");
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(model()->parts().front().vectors.size_bytes()));
}

void register_all() {
  const auto with_threads = [](auto* registered) {
    registered->Arg(1)->Arg(2);
    if (const int cores = glove::thread_count(0); cores > 2) registered->Arg(cores);
    registered->ArgName("threads")->UseRealTime()->Unit(benchmark::kMicrosecond);
  };
  with_threads(benchmark::RegisterBenchmark("bare read of codes, scales, residuals", bare_read));
  for (const std::string_view name : glove::cpu_targets()) {
    const std::string target(name);
    with_threads(benchmark::RegisterBenchmark(("one query k=10/" + target).c_str(), search, target, 1, 10,
                                              glove::FirstLevel::kFastest));
    with_threads(benchmark::RegisterBenchmark(("1024 queries k=10/" + target).c_str(), search, target, 1024,
                                              10, glove::FirstLevel::kFastest));
    with_threads(
        benchmark::RegisterBenchmark(("exact score of all rows/" + target).c_str(), score_all, target));
  }
  for (const int64_t k : {1, 10, 30, 100, 200, 300, 1000})
    for (const auto level : {glove::FirstLevel::kCodes8, glove::FirstLevel::kCoarsest})
      with_threads(benchmark::RegisterBenchmark(
          ("one query k=" + std::to_string(k) + ", " +
           (level == glove::FirstLevel::kCodes8 ? "8 bits first" : "coarsest level first"))
              .c_str(),
          search, std::string(), 1, k, level));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
