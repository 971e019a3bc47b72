// k-means: spherical and Euclidean Lloyd iterations whose result is the same, bit for bit, on every backend
// and with every number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/clusters.h"

namespace glove {

struct KMeansOptions {
  enum class Start {
    kAuto,    // k-means++ up to 256 clusters, random rows above
    kSpread,  // k-means++
    kRandom,  // random rows
  };
  Metric metric = Metric::kCosine;
  Start start = Start::kAuto;
  uint64_t seed = 0;
  int64_t runs = 1;  // the run with the least inertia wins; run i has the seed `seed` + i
  int64_t max_iterations = 100;
  double tolerance = 0.001;  // stops when at most this share of the rows changed its cluster
  // Finds the centroids alone, in any order, of which some may have no member. REQUIRES: one run.
  bool centroids_only = false;
  std::vector<int32_t> start_rows =
      {};  // if not empty: these rows are the first centroids, and there is one run
};

// A finished fit. Clusters are numbered from 0 by falling size, and each has at least one member: there are
// fewer than k clusters if there are fewer different rows. Every row belongs to its nearest centroid, by the
// rule of cluster_score().
struct Clustering {
  struct Cluster {
    int64_t size = 0;
    int64_t nearest_row = -1;  // the member nearest to the centroid, the lowest of equal ones
    double inertia = 0;     // the sum of the members' distances (kCosine) or squared distances (kEuclidean)
    double silhouette = 0;  // the mean of its members'
  };
  Centroids centroids;
  std::vector<Cluster> clusters;
  std::vector<NearestTwo> rows;  // [rows]; first = -1 for a zero row under kCosine
  int64_t iterations = 0;
  bool converged = false;

  double inertia() const;
  // The cosine of a row with its centroid, NaN if one of them is zero; the distance from it: 1 - cosine, or
  // the Euclidean distance. `row_norm_squared`: the row's D(x, x). REQUIRES: rows[row].first >= 0.
  double similarity(int64_t row, double row_norm_squared) const;
  double distance(int64_t row) const;
  // The simplified silhouette, (b - a) / max(a, b) of the distances from the nearest centroid and the second
  // nearest; 0 if both are 0, NaN if there is one cluster only.
  double silhouette(int64_t row) const;
};

// Clusters the points into k groups; without rows there are no clusters. Errors: k below 1 or above the
// number of rows that have a direction (kEuclidean: of rows), options outside their range, and an interrupt,
// which takes effect within a few ms. Opens its own float environment.
Result<Clustering> cluster_rows(Analysis& analysis, const Points& points, int64_t k,
                                const KMeansOptions& options, const InterruptCheck& interrupted);

// Returns centroids of `count` lists, or fewer where rows are alike: those of a few iterations by cosine,
// because more hardly change the number of rows that the planes of lists leave. Errors: an interrupt.
Result<Centroids> list_centroids(Analysis& analysis, const Points& points, int64_t count,
                                 const InterruptCheck& interrupted);

// Returns the list of each row: that of its nearest centroid, and any of a row without direction. Errors: an
// interrupt. REQUIRES: the float environment.
Result<std::vector<int32_t>> nearest_lists(Analysis& analysis, const Points& points,
                                           const Centroids& centroids, const InterruptCheck& interrupted);

}  // namespace glove
