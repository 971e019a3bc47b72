// k-means with few clusters. Each row keeps a lower bound of how much nearer its own centroid is than any
// other (Hamerly, "Making k-means even faster", 2010): a row is read again only after the centroids have
// moved that far. Scores in float with a bound of their error decide almost all rows that are read; exact
// scores decide the others. docs/exactness.md, section 4, has the argument.
#pragma once

#include <memory>

#include "analysis/analysis.h"
#include "cpu/kernels/kernels.h"

namespace glove::cpu {

// With more clusters the arithmetic in float would take longer than that in int8.
constexpr int64_t kMostBoundedClusters = 64;

// Analysis::kmeans_pass on `threads` threads. `analysis` computes what is not an iteration; it and the
// kernels must outlive the pass. REQUIRES: 1 <= count <= kMostBoundedClusters, and the float environment.
std::unique_ptr<KMeansPass> make_bounded_pass(Analysis& analysis, const Kernels& kernels, int threads,
                                              const Points& points, Metric metric, int64_t count);

}  // namespace glove::cpu
