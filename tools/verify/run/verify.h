// One kernel, one launch, one verdict.
#pragma once

#include "launch/spec.h"
#include "ptx/program.h"
#include "report/finding.h"

namespace glove::verify {

// REQUIRES: launch.block is set.
Verdict verify(const Kernel& kernel, const Launch& launch, const Options& options);

}  // namespace glove::verify
