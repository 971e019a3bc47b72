// Merges several answers into one: those of the parts of a model, of devices, or of the segments of an index.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/neighbor.h"

namespace glove {

// Returns the best k rows of all answers, best first. REQUIRES: each answer is in the relation's order, and
// no row is in two answers.
std::vector<Neighbor> merge_ranked(std::span<const std::span<const Neighbor>> answers, int64_t k);

}  // namespace glove
