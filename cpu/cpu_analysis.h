// The toolbox on the CPU.
#pragma once

#include <memory>

#include "analysis/analysis.h"
#include "cpu/cpu_backend.h"

namespace glove {

// Options as for make_cpu_backend(); an unknown target is an error here. Threads are those of the shared
// pool.
Result<std::unique_ptr<Analysis>> make_cpu_analysis(const CpuBackendOptions& options = {});

}  // namespace glove
