// One kernel, one launch, one verdict.
#pragma once

#include "glove_verify/launch.h"
#include "ptx/program.h"

namespace glove::verify {

// REQUIRES: launch.block is set.
Verdict verify_kernel(const Kernel& kernel, const Launch& launch, const Options& options);

}  // namespace glove::verify
