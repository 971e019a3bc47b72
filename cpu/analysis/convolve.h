// Convolution of grids, on several threads.
#pragma once

#include <span>

#include "analysis/grid.h"
#include "base/cancel.h"
#include "base/status.h"
#include "cpu/kernels/kernels.h"

namespace glove::cpu {

// Analysis::convolve, on at most `threads` threads.
Result<Grid> convolve(const Kernels& kernels, int threads, const Grid& grid, std::span<const Grid> by,
                      const InterruptCheck& interrupted);

}  // namespace glove::cpu
