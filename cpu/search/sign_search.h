// What a search needs that rules rows out by sign planes, with a given certainty (lists/sign_plane.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cpu/kernels/kernels.h"
#include "cpu/search/scan.h"
#include "search/searcher.h"

namespace glove::cpu {

// Returns true if the request allows it, the model has a sign plane, and it promises to be faster than
// reading planes of `rows` rows or context.scan_bits wants it.
bool wants_signs(const ScanContext& context, const SearchRequest& request, int64_t rows);

// One query and the sign plane of a model's only part. Immutable, and safe to use from many threads at once.
class SignSearch {
 public:
  // Returns nullopt if the model's rotation is damaged: the search must be exact. `wide` is
  // widen(query.vector). REQUIRES: wants_signs(), for some
  // number of rows.
  static std::optional<SignSearch> create(const ScanContext& context, const SearchRequest& request,
                                          const double* wide);

  // `products`: [lists], of the centroids and the query's unit vector. The query refers to both.
  SignQuery query(std::span<const float> products) const { return {codes_, products, line_, factor_}; }

 private:
  SignSearch() = default;

  std::vector<int8_t> codes_;
  PlaneLine line_{};
  float factor_ = 1;
};

}  // namespace glove::cpu
