// One device against several: uploads, single queries, batches and two connections at once, on random unit
// vectors; one JSON object on stdout. The rows of all of them are compared.
//
//   devices_bench [--words 2196016] [--dims 300] [--file MODEL] [DEVICES...]
//
// DEVICES are values of the setting 'devices', "0" "1" "0,1" by default.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/float_environment.h"
#include "gpu/backend/cuda_device.h"
#include "gpu/residency/model_slice.h"
#include "gpu/search/spread_plan.h"
#include "loader/open.h"
#include "tests/gpu/cuda_support.h"
#include "tests/search/reference.h"

namespace {

using namespace glove;
using namespace glove::testing;
using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

bool first_field = true;

void put(const std::string& key, double value) {
  std::printf("%s\n  \"%s\": %.6g", first_field ? "" : ",", key.c_str(), value);
  std::fflush(stdout);
  first_field = false;
}

void put_times(const std::string& key, const std::vector<double>& us) {
  put(key + "_us", quantile(us, 0.5));
  put(key + "_us_p10", quantile(us, 0.1));
  put(key + "_us_p90", quantile(us, 0.9));
}

template <class T>
T value_or_exit(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

// What a scan reads, and then the vectors, of equal slices to the first `count` devices side by side.
void time_uploads(const ModelPtr& model, int count) {
  std::vector<std::shared_ptr<gpu::SharedDevice>> devices;
  std::vector<ModelPtr> slices;
  const std::vector<int64_t> room(static_cast<size_t>(count), int64_t{1} << 40);
  int64_t first = 0;
  for (const int64_t end : gpu::divide_rows(*model, room, count)) {
    devices.push_back(open_device(static_cast<int>(devices.size())));
    slices.push_back(count == 1 ? model : gpu::slice_of(model, first, end));
    first = end;
  }
  std::vector<double> scan, all;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::shared_ptr<gpu::Arena>> arenas(devices.size());
    const auto side_by_side = [&](const std::function<void(size_t)>& work) {
      std::vector<std::thread> threads;
      for (size_t i = 0; i < devices.size(); ++i) threads.emplace_back([&, i] { work(i); });
      for (std::thread& thread : threads) thread.join();
    };
    const auto start = Clock::now();
    side_by_side([&](size_t i) { arenas[i] = arena_of(devices[i], slices[i]); });
    scan.push_back(us_since(start) * 1e-3);
    side_by_side([&](size_t i) {
      arenas[i]->upload_rest();
      arenas[i]->wait();
    });
    all.push_back(us_since(start) * 1e-3);
  }
  const std::string key = "upload_to_" + std::to_string(count);
  put(key + "_scan_ms", quantile(scan, 0.5));
  put(key + "_all_ms", quantile(all, 0.5));
  put(key + "_all_gb_s", static_cast<double>(gpu::resident_bytes(*model)) / (quantile(all, 0.5) * 1e6));
}

void time_single(const std::string& key, const ModelPtr& model, const std::vector<Query>& queries, int64_t k,
                 int rounds) {
  std::vector<double> us;
  for (int i = 0; i < rounds + 20; ++i) {
    const Query& query = queries[static_cast<size_t>(i) % queries.size()];
    const auto start = Clock::now();
    rows_by("cuda", model, {query}, k);
    if (i >= 20) us.push_back(us_since(start));
  }
  put_times(key + "_k" + std::to_string(k), us);
}

void time_batch(const std::string& key, const ModelPtr& model, const std::vector<Query>& queries, int64_t k) {
  std::vector<double> us;
  for (int i = 0; i < 14; ++i) {
    const auto start = Clock::now();
    rows_by("cuda", model, queries, k);
    if (i >= 4) us.push_back(us_since(start));
  }
  put_times(key + "_batch" + std::to_string(queries.size()) + "_k" + std::to_string(k), us);
}

// Single queries a second of several threads.
void time_threads(const std::string& key, const ModelPtr& model, const std::vector<Query>& queries,
                  size_t count) {
  constexpr int kRounds = 1000;
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  for (size_t t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      const ScopedFloatEnvironment float_environment;
      for (size_t i = 0; i < kRounds; ++i)
        rows_by("cuda", model, {queries[(i + t * 17) % queries.size()]}, 10);
    });
  for (std::thread& thread : threads) thread.join();
  put(key + "_threads" + std::to_string(count) + "_per_s",
      static_cast<double>(count) * kRounds / us_since(start) * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  int64_t words = 2196016;
  int64_t dims = 300;
  const char* file = nullptr;
  std::vector<std::string> choices;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--words") == 0 && i + 1 < argc)
      words = std::atoll(argv[++i]);
    else if (std::strcmp(argv[i], "--dims") == 0 && i + 1 < argc)
      dims = std::atoll(argv[++i]);
    else if (std::strcmp(argv[i], "--file") == 0 && i + 1 < argc)
      file = argv[++i];
    else
      choices.push_back(argv[i]);
  }
  if (choices.empty()) choices = {"0", "1", "0,1"};
  const ScopedFloatEnvironment float_environment;
  std::mt19937_64 random(test_seed());
  std::printf("{");
  put("devices", value_or_exit(gpu::count_cuda_devices()));
  auto start = Clock::now();
  const ModelPtr model =
      file != nullptr ? value_or_exit(open_model(file)) : large_model(test_seed(), words, dims);
  put("model_s", us_since(start) * 1e-6);
  const std::vector<Query> queries = random_queries(random, *model, Rows::kGaussian, 1024);
  const std::vector<Query> few(queries.begin(), queries.begin() + 8);
  const auto by_cpu = rows_by("cpu", model, few, 10);
  for (const int count : {1, 2})
    if (count <= value_or_exit(gpu::count_cuda_devices())) time_uploads(model, count);

  std::vector<std::vector<Neighbor>> wanted;
  size_t wrong = 0;
  for (const std::string& devices : choices) {
    const std::string key = "on_" + devices;
    if (const Status status = engine().settings().set("devices", devices); !status.ok()) std::exit(1);
    for (const char* pass : {"_first", "_again"}) {  // the first one creates contexts
      forget(model);
      start = Clock::now();
      value_or_exit(searchers_of(model).open(0, {}));
      put(key + pass + "_prepare_ms", us_since(start) * 1e-3);
      rows_by("cuda", model, {queries[0]}, 10);
      put(key + pass + "_answer_ms", us_since(start) * 1e-3);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    time_single(key, model, queries, 10, 3000);
    time_single(key, model, queries, 100, 1000);
    time_single(key, model, queries, 1000, 300);
    time_batch(key, model, queries, 10);
    time_batch(key, model, queries, 100);
    for (const size_t threads : {2, 8}) time_threads(key, model, queries, threads);
    const auto got = rows_by("cuda", model, queries, 10);
    if (wanted.empty()) wanted = got;
    for (size_t i = 0; i < queries.size(); ++i) wrong += difference(got[i], wanted[i]).empty() ? 0 : 1;
    for (size_t i = 0; i < few.size(); ++i) {
      wrong += difference(rows_by("cuda", model, {few[i]}, 10)[0], by_cpu[i]).empty() ? 0 : 1;
      wrong += difference(rows_by("cuda", model, {queries[100 + i]}, 10)[0], wanted[100 + i]).empty() ? 0 : 1;
    }
    std::fprintf(stderr, "%s: %s, %s\n", devices.c_str(), info_of(model).device.c_str(),
                 info_of(model).state.c_str());
  }
  forget(model);
  put("different_answers", static_cast<double>(wrong));
  std::printf("\n}\n");
  return wrong == 0 ? 0 : 1;
}
