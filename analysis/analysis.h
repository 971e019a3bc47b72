// What a backend computes for the toolbox: the passes over all rows. The algorithms above
// it (analysis/kmeans.h and its neighbours) run on the host and are the same for every backend.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "analysis/clusters.h"
#include "analysis/kmeans_pass.h"
#include "analysis/moments.h"
#include "analysis/points.h"
#include "base/status.h"
#include "model/row_map.h"

namespace glove {

// Every result is specified to the last bit, so it does not depend on the backend, its threads or its
// instruction set. Thread-safe. An interrupted call returns kInterrupted and leaves its outputs incomplete.
// REQUIRES, for every member: the float environment.
class Analysis {
 public:
  virtual ~Analysis() = default;

  // Prepares the part of a k-means fit that runs on the backend, for `count` clusters of these points. The
  // analysis must outlive the pass.
  virtual Result<std::unique_ptr<KMeansPass>> kmeans_pass(const Points& points, Metric metric, int64_t count,
                                                          const InterruptCheck& interrupted) = 0;

  // dots[i] = D(vector, row i).
  //   vector  [dims]
  virtual Status dots(const Points& points, std::span<const float> vector, std::span<double> dots,
                      const InterruptCheck& interrupted) = 0;

  // sums[j] = the sum of weights[i] * x_ij over the rows i that have a weight, as analysis/moments.h says.
  //   weights  [rows], or empty: all 1
  //   sums     [dims]
  Status column_sums(const Points& points, std::span<const double> weights, std::span<double> sums,
                     const InterruptCheck& interrupted) {
    return sum_rows(points, ColumnSums{weights, sums}, interrupted);
  }

  // product = A^T (A vector), where the rows of A are the points: column_sums() with the weights that dots()
  // returns, bit for bit.
  //   vector   [dims]
  //   product  [dims]
  Status gram_product(const Points& points, std::span<const float> vector, std::span<double> product,
                      const InterruptCheck& interrupted) {
    return sum_rows(points, GramProduct{vector, product}, interrupted);
  }

  // moment[i * dims + j] = the sum of y_i * y_j over the rows, with y as analysis/moments.h says.
  //   moment  [dims, dims]
  Status second_moment(const Points& points, const MomentRows& rows, std::span<double> moment,
                       const InterruptCheck& interrupted) {
    return sum_rows(points, SecondMoment{rows, moment}, interrupted);
  }

  // Any of these three.
  virtual Status sum_rows(const Points& points, const RowSums& what, const InterruptCheck& interrupted) = 0;

  // Maps every row. Of the points it reads only the vectors.
  //   out  [rows, map.dims_out], or longer
  virtual Status map_rows(const Points& points, const RowMap& map, std::span<float> out,
                          const InterruptCheck& interrupted) = 0;
};

}  // namespace glove
