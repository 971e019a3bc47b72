// What k-means works with: the metric, the centroids, and the exact sum of the members of each cluster.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/require.h"
#include "model/exact_dot.h"

namespace glove {

struct Points;

enum class Metric {
  kCosine,     // rows and centroids are compared by direction; zero rows belong to no cluster
  kEuclidean,  // by squared distance
};

// The score by which a row chooses its cluster; the largest wins, and of equal ones the lowest cluster. It is
// the cosine, or the negative of (D(x,x) + D(c,c)) - 2 D(x,c) in double.
//   dot  D(x, c)
// REQUIRES: for kCosine, both norms > 0.
inline double cluster_score(Metric metric, double dot, double row_norm_squared,
                            double centroid_norm_squared) {
  GLOVE_REQUIRE(metric != Metric::kCosine || (row_norm_squared > 0 && centroid_norm_squared > 0));
  if (metric == Metric::kCosine) return cosine_from_dots(dot, row_norm_squared, centroid_norm_squared);
  return -((row_norm_squared + centroid_norm_squared) - 2 * dot);
}

// REQUIRES, for kCosine: every centroid has a direction.
struct Centroids {
  Metric metric = Metric::kCosine;
  int64_t count = 0;
  int64_t dims = 0;
  std::vector<float> vectors;         // [count, dims], row-major
  std::vector<double> norms_squared;  // [count], D(c, c)

  Centroids(Metric by, int64_t clusters, int64_t components);
  const float* vector(int64_t cluster) const { return vectors.data() + cluster * dims; }
  // Copies `vector` and computes its norm. REQUIRES: the float environment.
  void set(int64_t cluster, const float* vector);
};

// Returns the clusters without members, rising.
//   sizes  the number of members of each cluster
std::vector<int32_t> empty_clusters(std::span<const int64_t> sizes);

// A row's two best clusters with their scores. -1 and -infinity: the row belongs to no cluster, or there is
// no second one.
struct NearestTwo {
  int32_t first = -1;
  int32_t second = -1;
  double first_score = -std::numeric_limits<double>::infinity();
  double second_score = -std::numeric_limits<double>::infinity();
};

// Sums of rows in fixed point. Integer addition commutes, so the sums do not depend on the order in which
// threads or devices add rows, nor on whether a sum was updated by difference or computed anew.
//
// A component x of a row adds round(x * row_factor * 2^bits) with ties to even, where row_factor is 1 / |row|
// for kCosine and one power of two for all rows for kEuclidean, so that |x * row_factor| <= 1.
struct FixedSums {
  Metric metric = Metric::kCosine;
  int64_t count = 0;
  int64_t dims = 0;
  int bits = 0;                // min(40, 62 - ceil(log2 rows)): no sum can overflow
  double unit = 1;             // kEuclidean: the power of two that is 1.0 in fixed point
  std::vector<int64_t> sums;   // [count, dims]
  std::vector<int64_t> sizes;  // [count], rows in each sum

  // Zero sums for `count` clusters of these points. REQUIRES: the float environment.
  FixedSums(Metric by, int64_t clusters, const Points& points);

  // Returns to zero sums.
  void clear();

  // Returns what a component of a row is multiplied by before it is rounded to an integer: a power of two
  // times 1 / |row|, or a power of two. REQUIRES: for kCosine, the row is not zero.
  double factor(double row_norm_squared) const {
    GLOVE_REQUIRE(metric != Metric::kCosine || row_norm_squared > 0);
    const double one = std::ldexp(1.0, bits);
    return metric == Metric::kCosine ? 1 / std::sqrt(row_norm_squared) * one : one / unit;
  }

  // Replaces the centroids by the means of their members: a unit vector for kCosine. A cluster without
  // members, or for kCosine one whose members cancel out, keeps its centroid. REQUIRES: the float
  // environment.
  void update(Centroids& centroids) const;
};

}  // namespace glove
