// The nearest centroids of rows: bounds from the int8 codes decide most rows, exact scores the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/clusters.h"
#include "cpu/kernels.h"

namespace glove::cpu {

// Centroids made ready for a pass over rows. Read by all threads of the pass.
class CentroidScan {
 public:
  // Both outlive the scan. REQUIRES: the float environment.
  CentroidScan(const Kernels& kernels, const Points& points, const Centroids& centroids);

  // Tiles that make a chunk of work of a few ms at most.
  int64_t tiles_per_chunk() const;

  // The best clusters of the rows of tiles [first_tile, last_tile): labels only, or the best two with their
  // scores. `labels` and `nearest` belong to all points.
  void assign(int64_t first_tile, int64_t last_tile, std::span<int32_t> labels) const;
  void nearest_two(int64_t first_tile, int64_t last_tile, std::span<NearestTwo> nearest) const;

 private:
  class TileSearch;

  void measure_distances();
  CentroidBound bound_of(const QuantizedQuery& query, double norm_squared) const;

  const Kernels& kernels_;
  const ClusterKernels& cluster_kernels_;
  const Points& points_;
  const Centroids& centroids_;
  double scale_ = 1;  // makes the largest norm about 1
  std::vector<QuantizedQuery> queries_;
  std::vector<CentroidBound> bounds_;
  std::vector<int8_t> packed_;
  // [count, count]: at least the distance between two centroids as the bounds see them, of length 1 for
  // kCosine. Empty if there are too many.
  std::vector<float> distances_;
};

}  // namespace glove::cpu
