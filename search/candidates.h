// Turns the rows that may belong to an answer into the answer, in place.
#pragma once

#include <cstdint>
#include <vector>

#include "model/model.h"
#include "search/neighbor.h"
#include "search/query.h"

namespace glove {

// False for the segments of a live index, whose vectors are in the user's table.
inline bool has_vectors(const Model& model) {
  return !model.parts().front().vectors.empty();
}

// Sets each row's exact similarity: kNoSimilarity for a zero row. Runs on the calling thread.
void rescore(const Model& model, const Query& query, std::vector<Neighbor>& rows);

// Keeps the best k of the rows that have a similarity and are not excluded, best first. If the rows are
// already in that order, they are not sorted again. Frees memory that so few rows do not need.
void keep_best(const Query& query, int64_t k, std::vector<Neighbor>& rows);

}  // namespace glove
