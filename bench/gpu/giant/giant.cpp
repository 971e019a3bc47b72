// Up to 10^8 rows of 300 dimensions on all devices: time against rows, one device against all, many
// connections, and as many rows as the devices hold codes of. Every answer is compared with a plain kernel's.
// A line of JSON per measurement on stdout; exits with 1 if an answer was wrong.
//
//   giant [--rows 2000000,20000000,100000000] [--seconds 1] [--seed 1] [--commit NAME] [--no-codes]
//
// The largest number of rows is made first, in about 1,680 bytes of memory each; the others are its first
// rows. bench/scale_plot.py draws the time against rows.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/float_environment.h"
#include "base/thread_pool.h"
#include "bench/gpu/giant/check.h"
#include "bench/gpu/giant/rows.h"
#include "bench/gpu/giant/session.h"
#include "bench/gpu/timing.h"
#include "gpu/layout/plan.h"
#include "model/limits.h"

namespace {

using namespace glove;
using namespace glove::bench;

constexpr int64_t kDims = 300;
constexpr size_t kQueries = 1024;
constexpr size_t kChecked = 200;
constexpr int64_t kMostRows = 1000;

struct Options {
  std::vector<int64_t> rows = {2'000'000, 20'000'000, 100'000'000};
  double seconds = 1;
  uint64_t seed = 1;
  std::string commit = "unknown";
  bool codes = true;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (name == "--rows") {
      options.rows.clear();
      for (std::string list = value(); !list.empty();
           list.erase(0, std::min(list.find(','), list.size() - 1) + 1))
        options.rows.push_back(std::stoll(list));
    } else if (name == "--seconds") {
      options.seconds = std::stod(value());
    } else if (name == "--seed") {
      options.seed = std::stoull(value());
    } else if (name == "--commit") {
      options.commit = value();
    } else if (name == "--no-codes") {
      options.codes = false;
    } else {
      std::fprintf(stderr,
                   "giant: unknown argument '%s'; the first lines of giant.cpp list those there are\n",
                   argv[i]);
      std::exit(2);
    }
  }
  for (int64_t& rows : options.rows) rows = std::max<int64_t>(1, rows / GiantRows::kUnit) * GiantRows::kUnit;
  return options;
}

// Half of them are rows that exclude themselves, and half are other vectors around the same centres and
// elsewhere.
std::vector<Query> make_queries(const Model& model, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<Query> queries;
  while (queries.size() < kQueries) {
    const auto row = static_cast<int64_t>(random() % static_cast<uint64_t>(model.words()));
    std::vector<float> vector(model.vector(row), model.vector(row) + kDims);
    if (queries.size() % 2 == 0) {
      queries.push_back(*make_query(std::move(vector), {static_cast<int32_t>(row)}));
      continue;
    }
    const float noise = queries.size() % 4 == 1 ? 0.05f : 1.0f;
    for (float& component : vector) component += noise * normal(random);
    queries.push_back(*make_query(std::move(vector)));
  }
  return queries;
}

// The number of rows of which one device holds everything, at most `most`.
int64_t rows_of_one_device(int64_t most) {
  const gpu::MemoryPlan plan = gpu::plan_memory(GiantRows::kUnit, kDims);
  const int64_t room = free_bytes().front() - gpu::scratch_reserve(most) - (int64_t{1} << 30);
  const int64_t bytes = plan.scan_bytes + plan.exact_bytes + plan.coarse_bytes;
  return std::min(most, room / bytes * GiantRows::kUnit);
}

class Giant {
 public:
  explicit Giant(const Options& options)
      : options_(options),
        devices_(static_cast<int>(free_bytes().size())),
        alone_(devices_ > 1 ? rows_of_one_device(largest()) : 0),
        rows_(value_or_exit(GiantRows::make(options.seed, largest(), kDims))) {}

  int64_t run() {
    Line("rows")
        .add("seconds", us_since(start_) * 1e-6)
        .add("bytes", rows_.bytes())
        .add("private_bytes", private_bytes());
    find_truth();
    warm_up();
    for (const int64_t rows : sizes_) {
      const ModelPtr model = rows_.first(rows);
      time_upload(model, devices_);
      measure(model, truth_of(rows), "all");
      if (rows == alone_) measure_on("0", model);
      if (devices_ > 2 && rows <= 2 * alone_) measure_on("0,1", model);
    }
    if (options_.codes) measure_codes_alone();
    Line("end").add("wrong", wrong_).add("seconds", us_since(start_) * 1e-6);
    return wrong_;
  }

 private:
  int64_t largest() const { return *std::max_element(options_.rows.begin(), options_.rows.end()); }
  const Truth& truth_of(int64_t rows) const {
    return truths_[static_cast<size_t>(std::find(sizes_.begin(), sizes_.end(), rows) - sizes_.begin())];
  }

  void find_truth() {
    sizes_ = options_.rows;
    if (alone_ > 0) sizes_.push_back(alone_);
    sizes_.push_back(std::min(largest(), rows_of_one_device(largest()) * devices_));
    std::sort(sizes_.begin(), sizes_.end());
    sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
    const ModelPtr smallest = rows_.first(sizes_.front());
    queries_ = make_queries(*smallest, options_.seed);
    const auto checked = std::span(queries_).first(kChecked);
    const auto start = Clock::now();
    truths_ = check_rows(*rows_.first(largest()), checked, static_cast<size_t>(kMostRows), sizes_, devices_);
    const double seconds = us_since(start) * 1e-6;
    // The kernel itself is compared with the searches of the CPU.
    const Session session(smallest);
    const int64_t different = session.different(checked, truths_.front(), kMostRows, true, "cpu");
    wrong_ += different;
    Line("check")
        .add("seconds", seconds)
        .add("queries", kChecked)
        .add("k", kMostRows)
        .add("rows", largest())
        .add("different_from_cpu", different);
  }

  // Opens the devices, so that later differences of free memory are those of models and searches.
  void warm_up() {
    const Session session(rows_.first(GiantRows::kUnit));
    session.ask(std::span(queries_).first(1), 10);
    free_at_start_ = free_bytes();
  }

  void measure(const ModelPtr& model, const Truth& truth, const std::string& devices) {
    const int64_t private_before = private_bytes();
    Line line("search");
    line.add("rows", model->words()).add("devices", devices);
    {
      const Session session(model);
      const auto start = Clock::now();
      session.ask(std::span(queries_).first(1), 10);
      line.add("first_answer_ms", us_since(start) * 1e-3);
      session.settle(queries_.front());
      line.add("settled_ms", us_since(start) * 1e-3);
      time(session, line);
      check(session, truth, line);
      const SearcherInfo info = session.info();
      line.add("device", info.device).add("state", info.state).add("device_bytes", info.device_bytes);
      line.add("private_bytes", private_bytes() - private_before);
    }
    const auto free = free_bytes();
    int64_t scratch = 0;
    for (size_t i = 0; i < free.size(); ++i) scratch = std::max(scratch, free_at_start_[i] - free[i]);
    line.add("scratch_bytes", scratch);
  }

  void time(const Session& session, Line& line) {
    for (const int64_t k : {10, 100, 1000}) time_single(session, queries_, k, options_.seconds, line);
    for (const int64_t k : {10, 100}) time_batch(session, queries_, k, options_.seconds, line);
    for (const size_t count : {32, 128}) time_connections(session, queries_, count, options_.seconds, line);
  }

  void check(const Session& session, const Truth& truth, Line& line) {
    const auto checked = std::span(queries_).first(kChecked);
    int64_t different = 0;
    for (const int64_t k : {10, 100, 1000}) different += session.different(checked, truth, k, false);
    for (const int64_t k : {10, 100}) different += session.different(checked, truth, k, true);
    line.add("checked", 5 * kChecked).add("different", different);
    wrong_ += different;
  }

  void measure_on(const std::string& devices, const ModelPtr& model) {
    set("devices", devices);
    measure(model, truth_of(model->words()), devices);
    set("devices", "all");
  }

  // 10^9 rows and as many as the devices hold 8-bit codes of. Each row is there several times, so that the
  // host's memory suffices.
  void measure_codes_alone() {
    int64_t most = 0;
    while (fits_in_codes(largest() * (most + 1))) ++most;
    const int64_t of_a_billion = (int64_t{1'000'000'000} + largest() / 2) / largest();
    if (of_a_billion > 1 && of_a_billion < most) measure_repeated(of_a_billion);
    if (most > 1) measure_repeated(most);
  }

  static bool fits_in_codes(int64_t rows) {
    int64_t room = 0;
    for (const int64_t bytes : free_bytes()) room += bytes - gpu::scratch_reserve(rows) - (int64_t{1} << 28);
    return gpu::plan_memory(rows, kDims).scan_bytes <= room && rows <= kMaxRows;
  }

  void measure_repeated(int64_t times) {
    const auto checked = std::span(queries_).first(20);
    const ModelPtr model = value_or_exit(rows_.repeated(times));
    Truth truth;
    for (size_t i = 0; i < checked.size(); ++i)
      truth.push_back(repeated(truth_of(largest())[i], checked[i], times));
    const Session session(model);
    Line line("codes alone");
    line.add("rows", model->words()).add("times", times);
    const auto start = Clock::now();
    session.ask(checked.first(1), 10);
    line.add("first_answer_ms", us_since(start) * 1e-3);
    for (const int64_t k : {10, 100}) time_single(session, queries_, k, options_.seconds, line);
    time_batch(session, queries_, 10, options_.seconds, line);
    int64_t different = 0;
    for (const int64_t k : {10, 100}) different += session.different(checked, truth, k, false);
    different += session.different(checked, truth, 10, true);
    wrong_ += different;
    line.add("checked", 3 * checked.size()).add("different", different);
    line.add("device_bytes", session.info().device_bytes).add("state", session.info().state);
  }

  // The best rows when the model is there several times. A query excludes one row, but none of its copies.
  std::vector<Neighbor> repeated(const std::vector<Neighbor>& rows, const Query& query, int64_t times) const {
    std::vector<Neighbor> all;
    for (const int32_t row : query.excluded)
      for (int64_t copy = 1; copy < times; ++copy) all.push_back({row + copy * largest(), 1.0});
    for (const Neighbor& row : rows)
      for (int64_t copy = 0; copy < times && all.size() < 1000; ++copy)
        all.push_back({row.id + copy * largest(), row.similarity});
    std::sort(all.begin(), all.end(), ranks_before);
    return all;
  }

  const Clock::time_point start_ = Clock::now();
  const Options options_;
  const int devices_;
  const int64_t alone_;  // rows that are searched on one device and on all; 0: there is one
  const GiantRows rows_;
  std::vector<int64_t> sizes_;
  std::vector<Query> queries_;
  std::vector<Truth> truths_;  // by size
  std::vector<int64_t> free_at_start_;
  int64_t wrong_ = 0;
};

void print_machine(const Options& options) {
  Line line("machine");
  int devices = 0;
  require(cudaGetDeviceCount(&devices), "counting devices");
  for (int i = 0; i < devices; ++i) {
    cudaDeviceProp properties;
    require(cudaGetDeviceProperties(&properties, i), "asking for a device's properties");
    line.add("device" + std::to_string(i), std::string(properties.name));
    line.add("device" + std::to_string(i) + "_bytes", properties.totalGlobalMem);
  }
  line.add("cores", usable_cores())
      .add("commit", options.commit)
      .add("seed", options.seed)
      .add("dims", kDims);
}

}  // namespace

int main(int argc, char** argv) {
  const ScopedFloatEnvironment float_environment;
  const Options options = parse(argc, argv);
  print_machine(options);
  return Giant(options).run() == 0 ? 0 : 1;
}
