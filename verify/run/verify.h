// One kernel, one launch, one verdict.
#pragma once

#include "verify/launch/spec.h"
#include "verify/ptx/program.h"
#include "verify/report/finding.h"

namespace glove::verify {

// REQUIRES: launch.block is set.
Verdict verify(const Kernel& kernel, const Launch& launch, const Options& options);

}  // namespace glove::verify
