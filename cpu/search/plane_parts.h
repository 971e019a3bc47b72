// One query and the planes of the parts of a model that have them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "cpu/kernels/kernels.h"
#include "cpu/search/scan.h"

namespace glove::cpu {

// What a scan by planes knows of a query, whose codes are in `codes`, and of the products of a part's
// centroids.
PlaneQuery plane_query(const SplitQuery& query, const PlaneCodes& codes, std::span<const float> products,
                       int64_t dims);

// Immutable, and safe to use from many threads at once. References outlive it.
class PlaneParts {
 public:
  PlaneParts(const ScanContext& context, const Query& query, const SplitQuery& split);

  // REQUIRES: the part has planes.
  PlaneQuery query(size_t part) const;

  // Returns those `count` of `rows` rows, or a few more, of the nearest lists whose estimates are largest,
  // without their similarities; with a mask, of the admissible ones among these rows.
  std::vector<Neighbor> promising(const Kernels& kernels, int64_t rows, int64_t count,
                                  const RowMask* among) const;

 private:
  std::span<const float> products_of(size_t part) const {
    return products_.at(parts_[part].planes->centroids.data());
  }

  std::span<const ModelPart> parts_;
  const SplitQuery& split_;
  PlaneCodes codes_;
  std::map<const float*, std::vector<float>> products_;  // [lists], by the centroids, which parts may share
};

}  // namespace glove::cpu
