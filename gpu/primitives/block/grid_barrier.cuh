// A barrier for all blocks of a cooperative launch.
#pragma once

#include <cstdint>

namespace glove::gpu {

// Called once per launch by all threads of all blocks, which must all be resident
// (cudaLaunchCooperativeKernel). `arrived` must be 0 before the launch. Everything that any thread wrote
// before the barrier is visible to all threads after it, through L2 (__ldcg).
__device__ inline void grid_barrier(uint32_t* arrived) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (*static_cast<volatile uint32_t*>(arrived) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
}

}  // namespace glove::gpu
