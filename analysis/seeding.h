// The rows at which k-means starts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analysis/clusters.h"
#include "base/status.h"

namespace glove {

// `count` different rows among `candidates`, all equally likely, in the order in which they were drawn.
// REQUIRES: count <= candidates.size().
std::vector<int32_t> random_rows(std::span<const int32_t> candidates, int64_t count, uint64_t seed);

// Computes dots[i] = D(vector, row i) for all rows of the points.
using DotsOfRows = std::function<Status(std::span<const float> vector, std::span<double> dots)>;

// k-means++ (Arthur and Vassilvitskii 2007): the first row is random, and each further one is drawn with a
// probability proportional to its distance (kCosine) or squared distance (kEuclidean) from the nearest row
// drawn before. Weights are integers, 2^31 for the row farthest from the first, so that the draw does not
// depend on the order of a sum. When no row has a weight left, the first candidates that were not drawn
// follow. REQUIRES: count <= candidates.size(); the candidates are rows of `points`, rising, with a direction
// if the metric is kCosine; the float environment.
Result<std::vector<int32_t>> spread_rows(const DotsOfRows& dots_of_rows, const Points& points, Metric metric,
                                         std::span<const int32_t> candidates, int64_t count, uint64_t seed);

}  // namespace glove
