// One row of the relation, and the relation's order.
#pragma once

#include <cstdint>

namespace glove {

// Replaces the similarity of a row that has none. Lower than every similarity.
constexpr double kNoSimilarity = -2.0;

// The relation's order: descending similarity, then ascending id.
struct Neighbor {
  int64_t id;  // of a row of the model; in a live index, the key of a row of the user's table
  double similarity;
};
inline bool ranks_before(const Neighbor& a, const Neighbor& b) {
  return a.similarity != b.similarity ? a.similarity > b.similarity : a.id < b.id;
}

}  // namespace glove
