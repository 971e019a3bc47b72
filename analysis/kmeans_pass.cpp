#include "analysis/kmeans_pass.h"

#include <algorithm>

#include "analysis/analysis.h"

namespace glove {
namespace {

class HostPass final : public KMeansPass {
 public:
  HostPass(Analysis& analysis, const Points& points, Metric metric, int64_t count)
      : analysis_(analysis),
        points_(points),
        centroids_(metric, count, points.dims),
        sums_(metric, count, points),
        labels_(static_cast<size_t>(points.rows), -1),
        next_labels_(static_cast<size_t>(points.rows)) {}

  Status start(const Centroids& centroids) override {
    centroids_ = centroids;
    sums_.clear();
    std::fill(labels_.begin(), labels_.end(), -1);
    return {};
  }

  Result<Step> iterate(const InterruptCheck& interrupted) override {
    GLOVE_RETURN_IF_ERROR(analysis_.assign(points_, centroids_, next_labels_, interrupted));
    GLOVE_RETURN_IF_ERROR(analysis_.move_rows(points_, labels_, next_labels_, sums_, interrupted));
    Step step;
    for (size_t row = 0; row < labels_.size(); ++row) step.changes += labels_[row] != next_labels_[row];
    labels_.swap(next_labels_);
    step.empty_clusters = std::count(sums_.sizes.begin(), sums_.sizes.end(), 0);
    if (step.empty_clusters == 0) sums_.update(centroids_);
    return step;
  }

  Result<std::vector<int32_t>> empty_clusters() override { return glove::empty_clusters(sums_.sizes); }

  Status refill(std::span<const int32_t> rows, std::span<const int32_t> clusters,
                const InterruptCheck& interrupted) override {
    next_labels_ = labels_;
    for (size_t i = 0; i < rows.size(); ++i) next_labels_[static_cast<size_t>(rows[i])] = clusters[i];
    GLOVE_RETURN_IF_ERROR(analysis_.move_rows(points_, labels_, next_labels_, sums_, interrupted));
    labels_.swap(next_labels_);
    sums_.update(centroids_);
    return {};
  }

  Status read_centroids(Centroids& centroids) override {
    centroids = centroids_;
    return {};
  }

  Status nearest_two(const Centroids& centroids, std::span<NearestTwo> nearest,
                     const InterruptCheck& interrupted) override {
    return analysis_.nearest_two(points_, centroids, nearest, interrupted);
  }

  Status dots(std::span<const float> vector, std::span<double> dots,
              const InterruptCheck& interrupted) override {
    return analysis_.dots(points_, vector, dots, interrupted);
  }

 private:
  Analysis& analysis_;
  const Points points_;
  Centroids centroids_;
  FixedSums sums_;
  std::vector<int32_t> labels_;
  std::vector<int32_t> next_labels_;
};

}  // namespace

std::unique_ptr<KMeansPass> make_host_pass(Analysis& analysis, const Points& points, Metric metric,
                                           int64_t count) {
  return std::make_unique<HostPass>(analysis, points, metric, count);
}

}  // namespace glove
