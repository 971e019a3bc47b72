// k-means written out plainly: what the fast implementation is held against, bit for bit.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/kmeans.h"
#include "tests/cpu/test_support.h"

namespace glove::test {

// The score of every row with every centroid, one after the other.
std::vector<NearestTwo> reference_nearest_two(const Matrix& matrix, const Centroids& centroids);

// Fixed-point sums of all rows by their labels, added one after the other.
FixedSums reference_sums(const Matrix& matrix, const Points& points, Metric metric, int64_t k,
                         const std::vector<int32_t>& labels);

// Lloyd's iterations from these rows, until at most `tolerance` of the rows changes its label.
// REQUIRES: no cluster ever becomes empty.
struct ReferenceFit {
  Centroids centroids;
  std::vector<NearestTwo> rows;
  int64_t iterations;
  bool lost_a_cluster;  // the requirement did not hold, and the fit means nothing
};
ReferenceFit reference_kmeans(const Matrix& matrix, const Points& points, Metric metric,
                              const std::vector<int32_t>& start, int64_t max_iterations, double tolerance);

}  // namespace glove::test
