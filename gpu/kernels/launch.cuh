// Starts kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "gpu/kernels/device_shape.h"

namespace glove::gpu {

// Returns a number of blocks, one per multiprocessor at most, for kernels in which a team of `chunks` blocks
// takes `per_block` pieces of the work at a time; at least one team.
inline int64_t blocks_in_teams(int64_t work, int64_t per_block, int64_t chunks, const DeviceShape& shape) {
  const int64_t useful = (work + per_block - 1) / per_block;
  return chunks * std::max<int64_t>(1, std::min(useful, shape.multiprocessors / chunks));
}

// The blocks of a launch, and what each takes.
struct LaunchGrid {
  int64_t blocks;
  int threads;          // per block
  int64_t shared = 0;   // bytes of dynamic shared memory
  int most_shared = 0;  // the most that any launch of the kernel on this device takes, if that is over 32 KB
  int64_t rows = 1;     // of blocks
};

// Starts a kernel and returns without waiting for it.
template <class... Parameters>
cudaError_t launch(void (*kernel)(Parameters...), const LaunchGrid& grid, cudaStream_t stream,
                   const std::type_identity_t<std::remove_const_t<Parameters>>&... arguments) {
  // Always the same limit, so that no launch is refused because one for another model needs less.
  if (grid.most_shared > 0)
    if (const cudaError_t error =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, grid.most_shared);
        error != cudaSuccess)
      return error;
  const dim3 blocks(static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.rows));
  kernel<<<blocks, static_cast<unsigned>(grid.threads), static_cast<size_t>(grid.shared), stream>>>(
      arguments...);
  return cudaGetLastError();
}

}  // namespace glove::gpu
