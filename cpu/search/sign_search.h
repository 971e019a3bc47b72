// What a search needs that rules rows out by sign planes, with a given certainty (lists/sign_plane.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cpu/kernels/kernels.h"
#include "cpu/search/scan.h"
#include "lists/list_codes.h"
#include "search/searcher.h"

namespace glove::cpu {

// Returns true if the request allows it, the model has a sign plane, and it promises to be faster than
// reading planes or context.scan_bits wants it.
bool wants_signs(const ScanContext& context, const SearchRequest& request);

// Returns planes of the model if all planes that it has are signed by one rotation; otherwise null.
const PlaneLevel* signed_planes(const Model& model);

// Products of the query's unit vector and centroids that are off by at most `off`.
struct ListProducts {
  std::vector<float> products;
  float off = 0;
};

// Returns them by the centroids' codes, which are a quarter of their bytes.
ListProducts coded_products(const ScanContext& context, const ListCodes& lists, const Query& query);

// One query and the sign planes of a model. Immutable, and safe to use from many threads at once.
class SignSearch {
 public:
  // Returns nullopt if the model's rotation is damaged: the search must be exact. `wide` is
  // widen(query.vector). REQUIRES: wants_signs(context, request)
  static std::optional<SignSearch> create(const ScanContext& context, const SearchRequest& request,
                                          const double* wide);

  // `products`: [lists], of the centroids and the query's unit vector. The query refers to both.
  SignQuery query(std::span<const float> products) const {
    return {codes_, products, products_.off, line_, factor_};
  }

  // [lists]: these products, or empty if they must be computed.
  const std::vector<float>& products() const { return products_.products; }

 private:
  SignSearch() = default;

  std::vector<int8_t> codes_;
  PlaneLine line_{};
  float factor_ = 1;
  ListProducts products_;
};

}  // namespace glove::cpu
