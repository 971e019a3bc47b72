// Clustering and principal components on the CPU.
#pragma once

#include <memory>

#include "analysis/analysis.h"
#include "cpu/cpu_backend.h"

namespace glove {

// Takes the same options as make_cpu_backend(), but returns an error for an unknown target. Uses the shared
// thread pool.
Result<std::unique_ptr<Analysis>> make_cpu_analysis(const CpuBackendOptions& options = {});

}  // namespace glove
