// The part of a k-means fit that runs on a backend, which keeps the labels of the rows, the sums of the
// clusters and the centroids between iterations. The iterations themselves are in analysis/kmeans.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/clusters.h"
#include "base/status.h"

namespace glove {

// The rows, labels, sums and centroids of one fit. Used by one thread at a time. The points must outlive it.
// Every result is specified to the last bit, as in analysis/analysis.h. After an error only the destructor
// may be called. REQUIRES, for every member: the float environment.
class KMeansPass {
 public:
  // What an iteration did.
  struct Step {
    int64_t changes = 0;                       // rows whose cluster changed
    std::vector<int32_t> empty_clusters = {};  // those without members, rising; if there are any, the
                                               // centroids have not moved
  };

  virtual ~KMeansPass() = default;

  // Begins a run from these centroids: no row has a cluster. REQUIRES: the metric and the number of centroids
  // that the pass was made for.
  virtual Status start(const Centroids& centroids) = 0;

  // Assigns every row to the cluster with the best cluster_score(), the lowest of equal ones; a zero row to
  // none under kCosine. If every cluster then has a member, replaces the centroids by the means of their
  // members.
  virtual Result<Step> iterate(const InterruptCheck& interrupted) = 0;

  // Puts rows[i] into clusters[i], and then replaces the centroids by the means of their members.
  virtual Status refill(std::span<const int32_t> rows, std::span<const int32_t> clusters,
                        const InterruptCheck& interrupted) = 0;

  // Copies the centroids to `centroids`, which has their metric, number and dimensions.
  virtual Status read_centroids(Centroids& centroids) = 0;

  // nearest[i] = the two best clusters of row i, by the same rule, with their scores. REQUIRES: not more
  // centroids than the pass was made for.
  virtual Status nearest_two(const Centroids& centroids, std::span<NearestTwo> nearest,
                             const InterruptCheck& interrupted) = 0;

  // clusters[i] = the best cluster of row i, by the same rule; -1 for a zero row under kCosine. REQUIRES: as
  // for nearest_two().
  virtual Status nearest(const Centroids& centroids, std::span<int32_t> clusters,
                         const InterruptCheck& interrupted) {
    std::vector<NearestTwo> rows(clusters.size());
    GLOVE_RETURN_IF_ERROR(nearest_two(centroids, rows, interrupted));
    for (size_t i = 0; i < rows.size(); ++i) clusters[i] = rows[i].first;
    return {};
  }

  // Analysis::dots for the points of the pass.
  virtual Status dots(std::span<const float> vector, std::span<double> dots,
                      const InterruptCheck& interrupted) = 0;
};

}  // namespace glove
