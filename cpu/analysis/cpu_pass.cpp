#include "cpu/analysis/cpu_pass.h"

#include "base/float_environment.h"
#include "base/require.h"
#include "base/thread_pool.h"
#include "cpu/analysis/assign.h"
#include "cpu/analysis/moments.h"

namespace glove::cpu {
namespace {

// Each thread that changes labels has its own sums. Together they use at most this many bytes.
constexpr int64_t kMostSumBytes = int64_t{256} << 20;
constexpr size_t kRowsAhead = 8;  // changed rows that are prefetched

// Returns the number of threads that may have sums of their own.
size_t threads_with_sums(int threads, const FixedSums& sums) {
  const auto bytes = static_cast<int64_t>(sums.sums.size() * sizeof(int64_t));
  return static_cast<size_t>(std::clamp<int64_t>(kMostSumBytes / (bytes + 1), 1, threads));
}

class CodePass final : public CpuPass {
 public:
  using CpuPass::CpuPass;

 private:
  Status assign(const InterruptCheck& interrupted) override {
    next_labels_.resize(labels_.size());
    GLOVE_RETURN_IF_ERROR(assign_rows(kernels_, threads_, points_, centroids_, next_labels_, interrupted));
    const auto work = [&](int slot, int64_t first, int64_t last) {
      std::vector<int64_t> changed;
      for (int64_t row = first; row < last; ++row)
        if (labels_[static_cast<size_t>(row)] != next_labels_[static_cast<size_t>(row)])
          changed.push_back(row);
      for (size_t i = 0; i < changed.size(); ++i) {
        if (i + kRowsAhead < changed.size()) prefetch_row(points_, changed[i + kRowsAhead]);
        change_label(static_cast<size_t>(slot), changed[i], next_labels_[static_cast<size_t>(changed[i])]);
      }
    };
    return ThreadPool::for_pieces(static_cast<int>(partial_.size()), points_.rows,
                                  rows_per_chunk(points_.dims), interrupted, work);
  }

  std::vector<int32_t> next_labels_;
};

}  // namespace

CpuPass::CpuPass(const Kernels& kernels, int threads, const Points& points, Metric metric, int64_t count)
    : kernels_(kernels),
      threads_(threads),
      points_(points),
      centroids_(metric, count, points.dims),
      sums_(metric, count, points),
      partial_(threads_with_sums(threads, sums_), PartialSums(sums_)),
      labels_(static_cast<size_t>(points.rows), -1) {}

Status CpuPass::start(const Centroids& centroids) {
  centroids_ = centroids;
  sums_.clear();
  std::fill(labels_.begin(), labels_.end(), -1);
  return {};
}

Result<KMeansPass::Step> CpuPass::iterate(const InterruptCheck& interrupted) {
  for (PartialSums& partial : partial_) partial.clear();
  GLOVE_RETURN_IF_ERROR(assign(interrupted));
  Step step;
  for (const PartialSums& partial : partial_) step.changes += partial.add_to(sums_);
  step.empty_clusters = empty_clusters(sums_.sizes);
  if (step.empty_clusters.empty()) move_centroids();
  return step;
}

Status CpuPass::refill(std::span<const int32_t> rows, std::span<const int32_t> clusters,
                       const InterruptCheck& interrupted) {
  InterruptPoll poll(interrupted);
  partial_[0].clear();
  for (size_t i = 0; i < rows.size(); ++i) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    change_label(0, rows[i], clusters[i]);
  }
  partial_[0].add_to(sums_);
  move_centroids();
  return {};
}

Status CpuPass::read_centroids(Centroids& centroids) {
  centroids = centroids_;
  return {};
}

Status CpuPass::nearest_two(const Centroids& centroids, std::span<NearestTwo> nearest,
                            const InterruptCheck& interrupted) {
  return cpu::nearest_two(kernels_, threads_, points_, centroids, nearest, interrupted);
}

Status CpuPass::nearest(const Centroids& centroids, std::span<int32_t> clusters,
                        const InterruptCheck& interrupted) {
  return assign_rows(kernels_, threads_, points_, centroids, clusters, interrupted);
}

Status CpuPass::dots(std::span<const float> vector, std::span<double> dots,
                     const InterruptCheck& interrupted) {
  return cpu::dots(kernels_, threads_, points_, vector, dots, interrupted);
}

std::unique_ptr<KMeansPass> make_code_pass(const Kernels& kernels, int threads, const Points& points,
                                           Metric metric, int64_t count) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  return std::make_unique<CodePass>(kernels, threads, points, metric, count);
}

}  // namespace glove::cpu
