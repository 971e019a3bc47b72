// Removes what no memory access, no synchronisation and no value or branch that they need depends on.
#pragma once

#include <set>

#include "ptx/program.h"

namespace glove::verify {

struct SliceStatistics {
  size_t registers = 0;  // before
  size_t kept = 0;
  size_t instructions = 0;  // before
};

// What a slice keeps besides synchronisation, accesses and what they need.
struct SliceOptions {
  std::set<int> keep_data;   // PTX lines of stores whose data stay
  bool shared_only = false;  // accesses of global memory matter only for what they load
};

// Drops pure instructions without a reader, turns branches that decide nothing into jumps, forgets stored
// data that nobody needs (OperandKind::kNone) and numbers the registers anew. Loops without an effect are
// taken to end.
Kernel slice(const Kernel& kernel, const SliceOptions& options, SliceStatistics* statistics);

}  // namespace glove::verify
