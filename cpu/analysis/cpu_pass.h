// k-means in host memory. A pass rules most clusters out of each row before it computes exact scores, in one
// of two ways. docs/exactness.md, section 4, has the argument.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "analysis/clusters.h"
#include "analysis/kmeans_pass.h"
#include "analysis/points.h"
#include "cpu/kernels/kernels.h"

namespace glove::cpu {

// With more clusters the arithmetic in float would take longer than that in int8.
constexpr int64_t kMostBoundedClusters = 64;

// Return a pass on at most `threads` threads. The kernels must outlive it. REQUIRES: the float environment.
//
// Each row keeps a lower bound of how much nearer its own centroid is than any other (Hamerly, "Making
// k-means even faster", 2010): a row is read again only after the centroids have moved that far. Scores in
// float with a bound of their error decide almost all rows that are read; exact scores decide the others.
// REQUIRES: 1 <= count <= kMostBoundedClusters.
std::unique_ptr<KMeansPass> make_bounded_pass(const Kernels& kernels, int threads, const Points& points,
                                              Metric metric, int64_t count);
// Every row is compared with every centroid in every iteration, as cpu/analysis/assign.h says.
std::unique_ptr<KMeansPass> make_code_pass(const Kernels& kernels, int threads, const Points& points,
                                           Metric metric, int64_t count);

// The sums of clusters that one thread accumulates: differences of a FixedSums, to be added to it at the end.
class PartialSums {
 public:
  explicit PartialSums(const FixedSums& total) : sums_(total.sums.size()), sizes_(total.sizes.size()) {}

  void clear() {
    std::fill(sums_.begin(), sums_.end(), 0);
    std::fill(sizes_.begin(), sizes_.end(), 0);
    moves_ = 0;
  }

  // Moves a row from one cluster to another; a negative number is no cluster. REQUIRES: for kCosine, the row
  // is not zero.
  void move(const ClusterKernels& kernels, const FixedSums& format, const Points& points, int64_t row,
            int32_t from, int32_t to) {
    const double factor = format.factor(points.norms_squared[row]);
    add(kernels, points, row, from, -factor, -1);
    add(kernels, points, row, to, factor, 1);
    ++moves_;
  }

  // Adds the differences, and returns the number of moves.
  int64_t add_to(FixedSums& total) const {
    std::transform(total.sums.begin(), total.sums.end(), sums_.begin(), total.sums.begin(), std::plus<>());
    std::transform(total.sizes.begin(), total.sizes.end(), sizes_.begin(), total.sizes.begin(),
                   std::plus<>());
    return moves_;
  }

 private:
  // Ties to even make the fixed point of a negative factor the negative of the positive one's.
  void add(const ClusterKernels& kernels, const Points& points, int64_t row, int32_t cluster, double factor,
           int64_t size) {
    if (cluster < 0) return;
    kernels.add_fixed(points.vector(row), factor, points.dims, sums_.data() + cluster * points.dims);
    sizes_[static_cast<size_t>(cluster)] += size;
  }

  std::vector<int64_t> sums_;
  std::vector<int64_t> sizes_;
  int64_t moves_ = 0;
};

// What both have in common. Derived classes find the clusters of the rows.
class CpuPass : public KMeansPass {
 public:
  CpuPass(const Kernels& kernels, int threads, const Points& points, Metric metric, int64_t count);

  Status start(const Centroids& centroids) override;
  Result<Step> iterate(const InterruptCheck& interrupted) override;
  Status refill(std::span<const int32_t> rows, std::span<const int32_t> clusters,
                const InterruptCheck& interrupted) override;
  Status read_centroids(Centroids& centroids) override;
  Status nearest_two(const Centroids& centroids, std::span<NearestTwo> nearest,
                     const InterruptCheck& interrupted) override;
  Status nearest(const Centroids& centroids, std::span<int32_t> clusters,
                 const InterruptCheck& interrupted) override;
  Status dots(std::span<const float> vector, std::span<double> dots,
              const InterruptCheck& interrupted) override;

 protected:
  // Calls change_label() for each row whose cluster is no longer its nearest.
  virtual Status assign(const InterruptCheck& interrupted) = 0;
  // The sums have changed.
  virtual void move_centroids() { sums_.update(centroids_); }

  // Moves a row to another cluster, in the sums of the thread with this slot.
  void change_label(size_t slot, int64_t row, int32_t label) {
    int32_t& kept = labels_[static_cast<size_t>(row)];
    partial_[slot].move(*kernels_.many_clusters, sums_, points_, row, kept, label);
    kept = label;
  }

  const Kernels& kernels_;
  const int threads_;
  const Points points_;
  Centroids centroids_;
  FixedSums sums_;
  std::vector<PartialSums> partial_;  // per thread that changes labels
  std::vector<int32_t> labels_;
};

}  // namespace glove::cpu
