// Timings of k-means on a GPU: gpu_kmeans_bench ROWS DIMS K[,K...] ITERATIONS [euclidean]
//
// Prints a JSON object for each K. ROWS is a number of random rows, with a few strong directions, as
// embeddings have, or a file of float32 rows without a header. Times are of KMeansPass::iterate: the first,
// which adds every row to a sum, the median and the mean of the others, and the last.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/seeding.h"
#include "base/float_environment.h"
#include "base/timer.h"
#include "cpu/cpu_backend.h"
#include "gpu/backend/cuda_backend.h"
#include "model/model_builder.h"
#include "search/engine.h"

namespace {

using namespace glove;

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "gpu_kmeans_bench: %s\n", message.c_str());
  std::exit(1);
}

ModelPtr random_rows_model(int64_t rows, int64_t dims) {
  ModelBuilder builder("random rows");
  std::vector<float> scale(static_cast<size_t>(dims));
  for (size_t j = 0; j < scale.size(); ++j)
    scale[j] = 1e-5f / std::sqrt(1 + static_cast<float>(j) * 20 / static_cast<float>(dims));
  std::vector<float> row(scale.size());
  uint64_t state = 1;
  for (int64_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < row.size(); ++j) {
      state += 0x9E3779B97F4A7C15u;
      uint64_t z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
      z ^= z >> 31;
      const auto sum =
          static_cast<int64_t>((z & 0xffff) + ((z >> 16) & 0xffff) + ((z >> 32) & 0xffff) + (z >> 48));
      row[j] = static_cast<float>(sum - 131070) * scale[j];
    }
    if (!builder.add(std::to_string(i), row).ok()) fail("bad row");
  }
  return std::move(builder.finish().value());
}

// The rows of a float32 array in C order without a header.
ModelPtr file_model(const char* path, int64_t dims) {
  std::FILE* const file = std::fopen(path, "rb");
  if (file == nullptr) fail(std::string("cannot open ") + path);
  ModelBuilder builder(path);
  std::vector<float> row(static_cast<size_t>(dims));
  for (int64_t i = 0; std::fread(row.data(), sizeof(float), row.size(), file) == row.size(); ++i)
    if (!builder.add(std::to_string(i), row).ok()) fail("bad row");
  std::fclose(file);
  return std::move(builder.finish().value());
}

void run(Analysis& analysis, const Points& points, int64_t k, int iterations, Metric metric) {
  std::vector<int32_t> candidates(static_cast<size_t>(points.rows));
  std::iota(candidates.begin(), candidates.end(), 0);
  Centroids centroids(metric, k, points.dims);
  int64_t cluster = 0;
  for (const int32_t row : random_rows(candidates, k, 1)) centroids.set(cluster++, points.vector(row));
  const Timer making;
  auto pass = analysis.kmeans_pass(points, metric, k, {});
  if (!pass.ok()) fail(pass.error().message);
  const double upload_ms = making.microseconds() / 1000;
  std::vector<double> ms;
  int64_t changes = 0;
  for (int round = 0; round < 2; ++round) {  // the first one loads the kernels
    ms.clear();
    if (const Status status = pass.value()->start(centroids); !status.ok()) fail(status.error().message);
    for (int i = 0; i < iterations; ++i) {
      const Timer timer;
      const auto step = pass.value()->iterate({});
      if (!step.ok()) fail(step.error().message);
      ms.push_back(timer.microseconds() / 1000);
      changes = step.value().changes;
      if (!step.value().empty_clusters.empty()) fail("a cluster is empty");
    }
  }
  const double first = ms.front();
  const double last = ms.back();
  const double mean = std::accumulate(ms.begin() + 1, ms.end(), 0.0) / static_cast<double>(ms.size() - 1);
  std::nth_element(ms.begin() + 1, ms.begin() + static_cast<ptrdiff_t>(ms.size() / 2), ms.end());
  std::printf(
      "{\"rows\": %ld, \"dims\": %ld, \"k\": %ld, \"upload_ms\": %.1f, \"first_ms\": %.3f, \"median_ms\": "
      "%.3f, "
      "\"mean_ms\": %.3f, \"last_ms\": %.3f, \"last_changes\": %ld}\n",
      static_cast<long>(points.rows), static_cast<long>(points.dims), static_cast<long>(k), upload_ms, first,
      ms[ms.size() / 2], mean, last, static_cast<long>(changes));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) fail("ROWS DIMS K[,K...] ITERATIONS [euclidean]");
  const ScopedFloatEnvironment environment;
  Engine engine;
  auto cpu = make_cpu_backend();
  auto cuda = make_cuda_backend(engine.settings(), engine.log(), cpu.get());
  if (const Status status = cuda->available(); !status.ok()) fail(status.error().message);
  char* end_of_rows = nullptr;
  const int64_t rows = std::strtoll(argv[1], &end_of_rows, 10);
  const ModelPtr model = *end_of_rows == '\0' ? random_rows_model(rows, std::atoll(argv[2]))
                                              : file_model(argv[1], std::atoll(argv[2]));
  const auto searcher = cuda->open(model, {});
  if (!searcher.ok()) fail(searcher.error().message);
  const PointSet set = PointSet::first_rows(model, model->words());
  for (const char* k = argv[3]; k != nullptr && *k != '\0';) {
    char* end = nullptr;
    run(*cuda->analysis(), set.points(), std::strtoll(k, &end, 10), std::max(2, std::atoi(argv[4])),
        argc > 5 ? Metric::kEuclidean : Metric::kCosine);
    k = *end == ',' ? end + 1 : nullptr;
  }
  return 0;
}
