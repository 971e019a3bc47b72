// The sums of clusters that one thread accumulates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/clusters.h"
#include "analysis/points.h"
#include "cpu/cluster_kernels.h"

namespace glove::cpu {

// Differences of a FixedSums, to be added to it at the end.
class PartialSums {
 public:
  explicit PartialSums(const FixedSums& total)
      : sums_(total.sums.size()), sizes_(total.sizes.size()), fixed_(static_cast<size_t>(total.dims)) {}

  void clear() {
    std::fill(sums_.begin(), sums_.end(), 0);
    std::fill(sizes_.begin(), sizes_.end(), 0);
  }

  // Moves a row from one cluster to another; a negative number is no cluster. REQUIRES: for kCosine, the row
  // is not zero.
  void move(const ClusterKernels& kernels, const FixedSums& format, const Points& points, int64_t row,
            int32_t from, int32_t to) {
    kernels.to_fixed(points.vector(row), format.factor(points.norms_squared[row]), points.dims,
                     fixed_.data());
    add(from, -1);
    add(to, 1);
  }

  void add_to(FixedSums& total) const {
    std::transform(total.sums.begin(), total.sums.end(), sums_.begin(), total.sums.begin(), std::plus<>());
    std::transform(total.sizes.begin(), total.sizes.end(), sizes_.begin(), total.sizes.begin(),
                   std::plus<>());
  }

 private:
  void add(int32_t cluster, int64_t sign) {
    if (cluster < 0) return;
    const size_t dims = fixed_.size();
    int64_t* const sum = sums_.data() + static_cast<size_t>(cluster) * dims;
    for (size_t j = 0; j < dims; ++j) sum[j] += sign * fixed_[j];
    sizes_[static_cast<size_t>(cluster)] += sign;
  }

  std::vector<int64_t> sums_;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> fixed_;  // one row
};

// Fetches a row into the cache. Always inline, because GCC drops calls of functions that only prefetch.
[[gnu::always_inline]] inline void prefetch_row(const Points& points, int64_t row) {
  constexpr int64_t kLineFloats = 16;
  const float* const x = points.vector(row);
  for (int64_t j = 0; j < points.dims; j += kLineFloats) __builtin_prefetch(x + j);
}

}  // namespace glove::cpu
