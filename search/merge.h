// One answer from several: of the parts of a model, of devices, of the segments of an index.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/neighbor.h"

namespace glove {

// The best k rows of all answers, best first. Each answer is in the relation's order, and no row is in two.
std::vector<Neighbor> merge_ranked(std::span<const std::span<const Neighbor>> answers, int64_t k);

}  // namespace glove
