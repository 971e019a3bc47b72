// Removes what no address, branch, barrier or value that one of them needs depends on.
#pragma once

#include "verify/ptx/program.h"

namespace glove::verify {

struct SliceStatistics {
  size_t registers = 0;  // before
  size_t kept = 0;
  size_t instructions = 0;  // before
};

// Drops pure instructions without a reader, forgets stored data that nobody needs (OperandKind::kNone) and
// numbers the registers anew. With `keep_data` everything that is stored stays.
Kernel slice(const Kernel& kernel, bool keep_data, SliceStatistics* statistics);

}  // namespace glove::verify
