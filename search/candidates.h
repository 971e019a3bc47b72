// From the rows that may belong to an answer to the answer, in place.
#pragma once

#include <cstdint>
#include <vector>

#include "model/model.h"
#include "search/neighbor.h"
#include "search/query.h"

namespace glove {

// Gives each row its exact similarity: kNoSimilarity to a row that has none, because it is zero. Runs on the
// calling thread.
void rescore(const Model& model, const Query& query, std::vector<Neighbor>& rows);

// Leaves the best k of the rows that have a similarity and are not excluded, best first. Rows that come in
// that order are only read through.
void keep_best(const Query& query, int64_t k, std::vector<Neighbor>& rows);

}  // namespace glove
