#include "analysis/clusters.h"

#include <algorithm>
#include <bit>

#include "analysis/points.h"
#include "base/float_environment.h"

namespace glove {
namespace {

constexpr int kMostBits = 40;

// Returns the smallest power of two above the norms of all rows, and so above every component; 1 if all rows
// are zero.
double unit_of(const Points& points) {
  double largest = 0;
  for (int64_t row = 0; row < points.rows; ++row) largest = std::max(largest, points.norms_squared[row]);
  if (!(largest > 0)) return 1;
  int exponent = 0;
  std::frexp(std::sqrt(largest), &exponent);
  return std::ldexp(1.0, exponent);
}

}  // namespace

Centroids::Centroids(Metric by, int64_t clusters, int64_t components)
    : metric(by),
      count(clusters),
      dims(components),
      vectors(static_cast<size_t>(clusters * components)),
      norms_squared(static_cast<size_t>(clusters)) {}

void Centroids::set(int64_t cluster, const float* vector) {
  GLOVE_REQUIRE(cluster >= 0 && cluster < count);
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  std::copy_n(vector, dims, vectors.data() + cluster * dims);
  norms_squared[static_cast<size_t>(cluster)] = exact_dot(vector, vector, dims);
}

FixedSums::FixedSums(Metric by, int64_t clusters, const Points& points)
    : metric(by),
      count(clusters),
      dims(points.dims),
      bits(std::min(kMostBits, 62 - static_cast<int>(std::bit_width(
                                        static_cast<uint64_t>(std::max<int64_t>(points.rows, 1)) - 1)))),
      unit(by == Metric::kEuclidean ? unit_of(points) : 1),
      sums(static_cast<size_t>(clusters * points.dims)),
      sizes(static_cast<size_t>(clusters)) {}

void FixedSums::clear() {
  std::fill(sums.begin(), sums.end(), 0);
  std::fill(sizes.begin(), sizes.end(), 0);
}

void FixedSums::update(Centroids& centroids) const {
  GLOVE_REQUIRE(centroids.count == count && centroids.dims == dims);
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  std::vector<float> mean(static_cast<size_t>(dims));
  for (int64_t cluster = 0; cluster < count; ++cluster) {
    const int64_t size = sizes[static_cast<size_t>(cluster)];
    if (size == 0) continue;
    const int64_t* sum = sums.data() + cluster * dims;
    double factor = unit / std::ldexp(1.0, bits) / static_cast<double>(size);
    if (metric == Metric::kCosine) {
      double square = 0;
      for (int64_t j = 0; j < dims; ++j) square += static_cast<double>(sum[j]) * static_cast<double>(sum[j]);
      if (!(square > 0)) continue;
      factor = 1 / std::sqrt(square);
    }
    for (int64_t j = 0; j < dims; ++j)
      mean[static_cast<size_t>(j)] = static_cast<float>(static_cast<double>(sum[j]) * factor);
    centroids.set(cluster, mean.data());
  }
}

std::vector<int32_t> empty_clusters(std::span<const int64_t> sizes) {
  std::vector<int32_t> empty;
  for (size_t cluster = 0; cluster < sizes.size(); ++cluster)
    if (sizes[cluster] == 0) empty.push_back(static_cast<int32_t>(cluster));
  return empty;
}

}  // namespace glove
