// One row of the relation, and the relation's order.
#pragma once

#include <cstdint>

namespace glove {

// In place of the similarity of a row that has none: below them all.
constexpr double kNoSimilarity = -2.0;

// Order: similarity falling, then id rising.
struct Neighbor {
  int32_t id;
  double similarity;
};
inline bool ranks_before(const Neighbor& a, const Neighbor& b) {
  return a.similarity != b.similarity ? a.similarity > b.similarity : a.id < b.id;
}

}  // namespace glove
