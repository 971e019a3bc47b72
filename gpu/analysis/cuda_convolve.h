// Convolution on a CUDA device.
#pragma once

#include <span>

#include "analysis/grid.h"
#include "base/cancel.h"
#include "base/status.h"

namespace glove::gpu {

// Device::convolve on the current device. Allocates and frees what it needs.
Result<Grid> cuda_convolve(const Grid& grid, std::span<const Grid> kernels,
                           const InterruptCheck& interrupted);

}  // namespace glove::gpu
