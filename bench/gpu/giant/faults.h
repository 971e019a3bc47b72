// What goes wrong with a model of this size on the devices, and whether every answer stays right.
#pragma once

#include <span>

#include "bench/gpu/giant/check.h"

namespace glove::bench {

// Prints a line for each fault, and returns the number of answers that were wrong, or that came where an
// error should have. Leaves the settings as they were at the start of the program.
//   truth  the best rows of the queries
int64_t try_faults(const ModelPtr& model, std::span<const Query> queries, const Truth& truth);

}  // namespace glove::bench
