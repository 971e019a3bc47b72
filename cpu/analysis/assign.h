// The nearest centroids of rows: bounds from the int8 codes decide most rows, and exact scores decide the
// others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/clusters.h"
#include "analysis/points.h"
#include "base/status.h"
#include "cpu/kernels/kernels.h"

namespace glove::cpu {

// Begins to fetch the vector of a row. Always inline, because GCC drops calls of functions that only
// prefetch.
[[gnu::always_inline]] inline void prefetch_row(const Points& points, int64_t row) {
  constexpr int64_t kLineFloats = 16;
  const float* const x = points.vector(row);
  for (int64_t j = 0; j < points.dims; j += kLineFloats) __builtin_prefetch(x + j);
}

// Centroids prepared for one pass over rows. All threads of the pass may read it.
class CentroidScan {
 public:
  // Points and centroids must outlive the scan. Errors: an interrupt. REQUIRES: the float environment.
  static Result<CentroidScan> prepare(const Kernels& kernels, const Points& points,
                                      const Centroids& centroids, const InterruptCheck& interrupted);

  // Returns the number of tiles in a chunk of work that takes at most a few ms.
  int64_t tiles_per_chunk() const;

  // Finds the best clusters of the rows of tiles [first_tile, last_tile): the labels only, or the best two
  // with their scores. `labels` and `nearest` have one element per point of the whole set. If `interrupted`
  // says so, they return early, and what they wrote is meaningless: a tile takes long if there are a million
  // centroids.
  void visit(int64_t first_tile, int64_t last_tile, std::span<int32_t> labels,
             const InterruptCheck& interrupted) const;
  void visit(int64_t first_tile, int64_t last_tile, std::span<NearestTwo> nearest,
             const InterruptCheck& interrupted) const;

 private:
  class TileSearch;

  CentroidScan(const Kernels& kernels, const Points& points, const Centroids& centroids);

  template <class Fetch, class Finish>
  void visit_tiles(int64_t first_tile, int64_t last_tile, int wanted, const InterruptCheck& interrupted,
                   Fetch fetch, Finish finish) const;
  CentroidBound bound_of(const QuantizedQuery& query, double norm_squared) const;

  const Kernels& kernels_;
  const ClusterKernels& cluster_kernels_;
  const Points& points_;
  const Centroids& centroids_;
  double scale_ = 1;  // brings the largest norm close to 1
  std::vector<QuantizedQuery> queries_;
  std::vector<CentroidBound> bounds_;
  std::vector<int8_t> packed_;
};

// Find the best clusters of all rows on at most `threads` threads: the labels, -1 for a zero row under
// kCosine, or the best two. Errors: an interrupt. REQUIRES: the float environment.
Status assign_rows(const Kernels& kernels, int threads, const Points& points, const Centroids& centroids,
                   std::span<int32_t> labels, const InterruptCheck& interrupted);
Status nearest_two(const Kernels& kernels, int threads, const Points& points, const Centroids& centroids,
                   std::span<NearestTwo> nearest, const InterruptCheck& interrupted);

}  // namespace glove::cpu
