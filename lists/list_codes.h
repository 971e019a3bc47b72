// The directions of centroids in codes of 8 bits, and of a query in codes of 16, whose products are the same
// on every machine: they decide the order in which an approximate search reads lists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace glove {

constexpr int64_t kListCodeLanes = 16;  // codes that a kernel reads together, at most

// The codes of one vector, with zeros from `dims` on.
constexpr int64_t list_code_stride(int64_t dims) {
  return (dims + kListCodeLanes - 1) / kListCodeLanes * kListCodeLanes;
}

// The codes of centroids. The code of component j of a centroid's unit vector m is m_j / steps[j], rounded.
struct ListCodes {
  int64_t dims = 0;
  double scale = 0;  // the product of a query's codes and a centroid's is about this times the cosine
  std::vector<double> steps;  // [dims]
  std::vector<int8_t> codes;  // [lists, list_code_stride(dims)]
  // [lists]: times the product of codes, about the product of the centroid itself and the query's unit vector
  std::vector<float> factors;

  int64_t lists() const { return dims == 0 ? 0 : std::ssize(codes) / list_code_stride(dims); }
};

// REQUIRES: the float environment; the centroids are finite; dims <= kMaxPlaneDims.
ListCodes encode_centroids(std::span<const float> centroids, int64_t dims);

// Returns the sum of products of codes. REQUIRES: `lanes` is a multiple of kListCodeLanes, and the sum fits
// 32 bits in any order.
int32_t product_of_codes(const int8_t* codes, const int16_t* query, int64_t lanes);

// Returns the list_code_stride(dims) codes of a query's direction. No sum of its products with the codes of a
// centroid exceeds 32 bits, in any order. REQUIRES: the float environment; norm_squared = D(q, q) > 0.
std::vector<int16_t> encode_query(const ListCodes& lists, std::span<const float> query, double norm_squared);

}  // namespace glove
