// The sums of clusters that one thread accumulates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/clusters.h"
#include "analysis/points.h"
#include "cpu/kernels/cluster_kernels.h"

namespace glove::cpu {

// Differences of a FixedSums, to be added to it at the end.
class PartialSums {
 public:
  explicit PartialSums(const FixedSums& total) : sums_(total.sums.size()), sizes_(total.sizes.size()) {}

  void clear() {
    std::fill(sums_.begin(), sums_.end(), 0);
    std::fill(sizes_.begin(), sizes_.end(), 0);
    moves_ = 0;
  }

  // Moves a row from one cluster to another; a negative number is no cluster. REQUIRES: for kCosine, the row
  // is not zero.
  void move(const ClusterKernels& kernels, const FixedSums& format, const Points& points, int64_t row,
            int32_t from, int32_t to) {
    const double factor = format.factor(points.norms_squared[row]);
    add(kernels, points, row, from, -factor, -1);
    add(kernels, points, row, to, factor, 1);
    ++moves_;
  }

  // Adds the differences, and returns the number of moves.
  int64_t add_to(FixedSums& total) const {
    std::transform(total.sums.begin(), total.sums.end(), sums_.begin(), total.sums.begin(), std::plus<>());
    std::transform(total.sizes.begin(), total.sizes.end(), sizes_.begin(), total.sizes.begin(),
                   std::plus<>());
    return moves_;
  }

 private:
  // Ties to even make the fixed point of a negative factor the negative of the positive one's.
  void add(const ClusterKernels& kernels, const Points& points, int64_t row, int32_t cluster, double factor,
           int64_t size) {
    if (cluster < 0) return;
    kernels.add_fixed(points.vector(row), factor, points.dims, sums_.data() + cluster * points.dims);
    sizes_[static_cast<size_t>(cluster)] += size;
  }

  std::vector<int64_t> sums_;
  std::vector<int64_t> sizes_;
  int64_t moves_ = 0;
};

}  // namespace glove::cpu
