#include "bench/gpu/giant/session.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

#include "base/float_environment.h"
#include "bench/gpu/timing.h"
#include "gpu/residency/model_slice.h"
#include "gpu/search/spread_plan.h"
#include "model/nibbles.h"

namespace glove::bench {
namespace {

constexpr size_t kLeastRounds = 10;

void add_times(Line& line, const std::string& key, std::vector<double> us) {
  std::sort(us.begin(), us.end());
  const auto at = [&](double share) {
    return us[static_cast<size_t>(share * static_cast<double>(us.size() - 1))];
  };
  line.add(key + "_us", at(0.5)).add(key + "_us_p10", at(0.1)).add(key + "_us_p90", at(0.9));
  line.add(key + "_us_p99", at(0.99)).add(key + "_rounds", us.size());
}

// Calls ask(i) for about `seconds`, after a tenth of that as warm-up, and returns the microseconds of each
// call.
template <class Ask>
std::vector<double> times_of(double seconds, const Ask& ask) {
  std::vector<double> us;
  const auto start = Clock::now();
  for (size_t i = 0; us.size() < kLeastRounds || us_since(start) < seconds * 1.1e6; ++i) {
    const auto before = Clock::now();
    ask(i);
    const double taken = us_since(before);
    if (i > 0 && us_since(start) > seconds * 1e5) us.push_back(taken);
  }
  return us;
}

}  // namespace

void set(const std::string& key, const std::string& value) {
  if (const Status status = testing::engine().settings().set(key, value); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    std::exit(1);
  }
}

std::vector<int64_t> free_bytes() {
  int devices = 0;
  require(cudaGetDeviceCount(&devices), "counting devices");
  std::vector<int64_t> bytes;
  for (int i = 0; i < devices; ++i) {
    size_t free = 0;
    size_t total = 0;
    require(cudaSetDevice(i), "choosing a device");
    require(cudaMemGetInfo(&free, &total), "free memory");
    bytes.push_back(static_cast<int64_t>(free));
  }
  require(cudaSetDevice(0), "choosing a device");
  return bytes;
}

int64_t private_bytes() {
  std::ifstream file("/proc/self/status");
  std::string name;
  int64_t kib = 0;
  while (file >> name && name != "RssAnon:") file.ignore(4096, '\n');
  return file >> kib ? kib * 1024 : 0;
}

Answers Session::ask(std::span<const Query> queries, int64_t k, const std::string& backend,
                     SearchReport* report) const {
  SearchReport own;
  return value_or_exit(
      nearest(*searchers, queries, k, SearchOptions{backend, {}}, report != nullptr ? *report : own));
}

void Session::settle(const Query& query) const {
  const auto start = Clock::now();
  ask({&query, 1}, 10);
  const gpu::MemoryPlan plan = gpu::plan_memory(model().words(), model().dims());
  const int64_t device_bytes = info().device_bytes;
  if (device_bytes < plan.scan_bytes + plan.exact_bytes) return;  // the vectors stay on the host
  const bool coarse = device_bytes >= plan.scan_bytes + plan.exact_bytes + plan.coarse_bytes;
  const int64_t scanned = nibble_bytes(model().words(), model().dims()) + 10 * model().words();
  // Without 4-bit codes nothing says when the vectors have arrived.
  const double unseen_us = 1e6 + static_cast<double>(device_bytes) / 20e3;
  while (us_since(start) < (coarse ? 120e6 : unseen_us)) {
    SearchReport report;
    ask({&query, 1}, 10, "cuda", &report);
    if (coarse && report.cost.bytes_scanned < scanned) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

int64_t count_different(const Answers& answers, const Truth& truth, int64_t k) {
  int64_t different = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    const auto wanted = std::span(truth[i]).first(std::min(truth[i].size(), static_cast<size_t>(k)));
    const bool same = std::equal(answers[i].begin(), answers[i].end(), wanted.begin(), wanted.end(),
                                 [](const Neighbor& a, const Neighbor& b) {
                                   return a.id == b.id && std::bit_cast<uint64_t>(a.similarity) ==
                                                              std::bit_cast<uint64_t>(b.similarity);
                                 });
    different += same ? 0 : 1;
  }
  return different;
}

int64_t Session::different(std::span<const Query> queries, const Truth& truth, int64_t k, bool together,
                           const std::string& backend) const {
  if (together) return count_different(ask(queries, k, backend), truth, k);
  Answers answers;
  for (const Query& query : queries) answers.push_back(ask({&query, 1}, k, backend).front());
  return count_different(answers, truth, k);
}

void time_single(const Session& session, std::span<const Query> queries, int64_t k, double seconds,
                 Line& line) {
  const auto ask = [&](size_t i) { session.ask(queries.subspan(i % queries.size(), 1), k); };
  add_times(line, "k" + std::to_string(k), times_of(seconds, ask));
  SearchReport report;
  ScanCost cost;
  constexpr size_t kReported = 32;
  for (size_t i = 0; i < kReported; ++i) {
    session.ask(queries.subspan(i, 1), k, "cuda", &report);
    cost.add(report.cost);
  }
  const std::string key = "k" + std::to_string(k);
  line.add(key + "_candidates", cost.candidates / static_cast<int64_t>(kReported));
  line.add(key + "_bytes", cost.bytes_scanned / static_cast<int64_t>(kReported));
}

void time_batch(const Session& session, std::span<const Query> queries, int64_t k, double seconds,
                Line& line) {
  SearchReport report;
  const auto ask = [&](size_t) { session.ask(queries, k, "cuda", &report); };
  const std::string key = "batch" + std::to_string(queries.size()) + "_k" + std::to_string(k);
  add_times(line, key, times_of(seconds, ask));
  line.add(key + "_scan_us", report.cost.scan_us).add(key + "_select_us", report.cost.select_us);
  line.add(key + "_rescore_us", report.cost.rescore_us);
}

void time_connections(const Session& session, std::span<const Query> queries, size_t count, double seconds,
                      Line& line) {
  std::mutex mutex;
  std::vector<double> all;
  const auto start = Clock::now();
  const double warm_us = seconds * 2e5;
  const auto client = [&](size_t number) {
    const ScopedFloatEnvironment float_environment;
    std::vector<double> us;
    for (size_t i = number * 17; us_since(start) < warm_us + seconds * 1e6; ++i) {
      const auto before = Clock::now();
      session.ask(queries.subspan(i % queries.size(), 1), 10);
      if (us_since(start) > warm_us) us.push_back(us_since(before));
    }
    const std::lock_guard lock(mutex);
    all.insert(all.end(), us.begin(), us.end());
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) threads.emplace_back(client, i);
  for (std::thread& thread : threads) thread.join();
  const std::string key = "connections" + std::to_string(count);
  line.add(key + "_per_s", static_cast<double>(all.size()) / (us_since(start) - warm_us) * 1e6);
  add_times(line, key, std::move(all));
}

void time_upload(const ModelPtr& model, int devices) {
  std::vector<std::shared_ptr<gpu::SharedDevice>> opened;
  std::vector<int64_t> rooms;
  for (int i = 0; i < devices; ++i) {
    opened.push_back(testing::open_device(i));
    rooms.push_back(value_or_exit(opened.back()->room_for(model->words())));
  }
  std::vector<ModelPtr> slices;
  int64_t first = 0;
  for (const int64_t end : gpu::divide_rows(*model, rooms, devices))
    slices.push_back(gpu::slice_of(model, std::exchange(first, end), end));
  std::vector<std::shared_ptr<gpu::Arena>> arenas(slices.size());
  const auto side_by_side = [&](const auto& work) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < slices.size(); ++i) threads.emplace_back([&, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
  };
  const auto start = Clock::now();
  side_by_side([&](size_t i) { arenas[i] = testing::arena_of(opened[i], slices[i], rooms[i]); });
  const double scan_ms = us_since(start) * 1e-3;
  side_by_side([&](size_t i) {
    if (arenas[i] == nullptr) return;
    arenas[i]->upload_rest();
    arenas[i]->wait();
  });
  const double all_ms = us_since(start) * 1e-3;
  int64_t resident = 0;
  for (const auto& arena : arenas) resident += arena == nullptr ? 0 : arena->device_bytes();
  // Packed rows are made on the device.
  const int64_t packed = tile_count(model->words()) * kTileRows * gpu::packed_row_bytes(model->dims());
  const gpu::MemoryPlan plan = gpu::plan_memory(model->words(), model->dims());
  const bool everything = resident > plan.scan_bytes + plan.exact_bytes + plan.coarse_bytes / 2;
  const int64_t copied = resident - (everything ? packed : 0);
  Line("upload")
      .add("rows", model->words())
      .add("devices", devices)
      .add("scan_ms", scan_ms)
      .add("scan_gb_s", static_cast<double>(plan.scan_bytes) / scan_ms * 1e-6)
      .add("all_ms", all_ms)
      .add("resident_bytes", resident)
      .add("copied_bytes", copied)
      .add("all_gb_s", static_cast<double>(copied) / all_ms * 1e-6);
}

}  // namespace glove::bench
