// Timings of the toolbox: analysis_bench FILE.npy THREADS TASK ARGUMENTS... -> one JSON object.
//
//   kmeans METRIC K ITERATIONS [START.npy]   METRIC cosine or euclidean; START: the rows to start from, int32
//   moment ROUNDS                            mean and centred second moment
//   principal [unit]                         the first singular values
//
// FILE.npy is a float32 matrix in C order, which other libraries can be timed with as well.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "analysis/kmeans.h"
#include "analysis/principal.h"
#include "base/timer.h"
#include "cpu/cpu_analysis.h"
#include "model/model_builder.h"

namespace {

using namespace glove;

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "analysis_bench: %s\n", message.c_str());
  std::exit(1);
}

// Processor time of all threads so far.
double cpu_ms() {
  return static_cast<double>(std::clock()) * 1000 / CLOCKS_PER_SEC;
}

// The shape and the bytes of a .npy file of version 1.
struct Array {
  std::vector<int64_t> shape;
  std::vector<char> bytes;
};

Array read_npy(const char* path) {
  std::ifstream file(path, std::ios::binary);
  char start[10];
  if (!file.read(start, 10) || std::memcmp(start, "\x93NUMPY", 6) != 0)
    fail(std::string(path) + " is not a .npy file");
  std::string header(static_cast<unsigned char>(start[8]) + 256u * static_cast<unsigned char>(start[9]),
                     '\0');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  Array array;
  const char* place = std::strchr(std::strstr(header.c_str(), "shape"), '(') + 1;
  for (char* end = nullptr; *place != ')'; place = end + std::strspn(end, ", "))
    array.shape.push_back(std::strtoll(place, &end, 10));
  array.bytes.assign(std::istreambuf_iterator<char>(file), {});
  return array;
}

ModelPtr model_of(const Array& array) {
  const auto* values = reinterpret_cast<const float*>(array.bytes.data());
  const auto dims = static_cast<size_t>(array.shape.at(1));
  ModelBuilder builder("bench");
  for (int64_t row = 0; row < array.shape[0]; ++row)
    if (!builder.add(std::to_string(row), {values + static_cast<size_t>(row) * dims, dims}).ok())
      fail("bad row");
  return std::move(builder.finish().value());
}

void time_kmeans(Analysis& analysis, const Points& points, int count, char** arguments) {
  if (count < 3) fail("kmeans METRIC K ITERATIONS [START.npy]");
  KMeansOptions options;
  options.metric = std::strcmp(arguments[0], "cosine") == 0 ? Metric::kCosine : Metric::kEuclidean;
  const int64_t k = std::atoll(arguments[1]);
  options.max_iterations = std::atoll(arguments[2]);
  options.tolerance = 0;
  options.start = KMeansOptions::Start::kRandom;
  if (count > 3) {
    const Array start = read_npy(arguments[3]);
    options.start_rows.resize(start.bytes.size() / sizeof(int32_t));
    std::memcpy(options.start_rows.data(), start.bytes.data(), start.bytes.size());
  }
  const auto fit = [&](int64_t iterations) {
    options.max_iterations = iterations;
    return cluster_rows(analysis, points, k, options, {});
  };
  // Two fits that differ only in the number of iterations.
  const int64_t all = options.max_iterations;
  const Timer short_timer;
  const double short_cpu = cpu_ms();
  if (!fit(1).ok()) fail("fit");
  const double short_us = short_timer.microseconds();
  const Timer timer;
  const double cpu = cpu_ms();
  const auto result = fit(all);
  const double us = timer.microseconds();
  const double cpu_used = (cpu_ms() - cpu) - (cpu - short_cpu);
  if (!result.ok()) fail(result.error().message);
  const auto done = static_cast<double>(result.value().iterations);
  std::printf(
      "{\"ms_per_iteration\": %.3f, \"cpu_ms_per_iteration\": %.3f, \"ms\": %.3f, \"iterations\": %.0f, "
      "\"inertia\": %.3f}\n",
      (us - short_us) / 1000 / (done - 1), cpu_used / (done - 1), us / 1000, done, result.value().inertia());
}

void time_moment(Analysis& analysis, const Points& points, int rounds) {
  std::vector<double> moment(static_cast<size_t>(points.dims * points.dims));
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    const Timer timer;
    const auto mean = weighted_mean(analysis, points, {}, {});
    const std::vector<float> center(mean.value().begin(), mean.value().end());
    if (!analysis.second_moment(points, {{}, center}, moment, {}).ok()) fail("second_moment");
    const double ms = timer.microseconds() / 1000;
    best = round == 0 ? ms : std::min(best, ms);
  }
  std::printf("{\"ms\": %.3f, \"first\": %.17g}\n", best, moment[0]);
}

void print_principal(Analysis& analysis, const Points& points, bool unit) {
  for (const bool center : {true, false}) {
    const auto found = principal_components(analysis, points, {center, unit, {}}, {});
    if (!found.ok()) fail(found.error().message);
    double mean = 0;
    for (const float value : found.value().mean)
      mean += static_cast<double>(value) * static_cast<double>(value);
    std::printf("{\"center\": %d, \"total_variance\": %.9f, \"mean\": %.9f, \"singular_values\": [", center,
                found.value().total_variance, std::sqrt(mean));
    for (size_t c = 0; c < std::min<size_t>(10, found.value().singular_values.size()); ++c)
      std::printf("%s%.9g", c == 0 ? "" : ", ", found.value().singular_values[c]);
    std::printf("]}\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) fail("FILE.npy THREADS TASK ARGUMENTS...");
  const ModelPtr model = model_of(read_npy(argv[1]));
  CpuBackendOptions options;
  options.threads = std::atoi(argv[2]);
  auto analysis = make_cpu_analysis(options);
  if (!analysis.ok()) fail(analysis.error().message);
  const PointSet set = PointSet::first_rows(model, model->words());
  const std::string task = argv[3];
  if (task == "kmeans")
    time_kmeans(*analysis.value(), set.points(), argc - 4, argv + 4);
  else if (task == "moment")
    time_moment(*analysis.value(), set.points(), argc > 4 ? std::atoi(argv[4]) : 5);
  else if (task == "principal")
    print_principal(*analysis.value(), set.points(), argc > 4);
  else
    fail("no task '" + task + "'");
  return 0;
}
