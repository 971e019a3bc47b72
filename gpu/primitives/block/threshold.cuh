// Finds the threshold from a histogram of lower bounds, with one block.
#pragma once

#include <cstdint>

#include "gpu/layout/bounds.h"
#include "gpu/primitives/warp/reduce.cuh"

namespace glove::gpu {

// Shared memory of block_threshold.
struct ThresholdScratch {
  uint32_t warp_sums[32];
  float threshold;
};

// Returns the floor of the bin that contains the `rank`-th largest lower bound, or -infinity if there are
// fewer. Called by all threads of a block of whole warps; every thread gets the result. `counts` is [kBins]
// in shared memory and must be complete before the call.
__device__ inline float block_threshold(const uint32_t* counts, uint32_t rank, ThresholdScratch& scratch) {
  const int threads = static_cast<int>(blockDim.x);
  // Odd, so that neighbouring threads read different banks.
  const int per_thread = ((kBins + threads - 1) / threads) | 1;
  const int first = static_cast<int>(threadIdx.x) * per_thread;  // positions from the top bin down
  const int last = min(kBins, first + per_thread);
  uint32_t mine = 0;
#pragma unroll 4
  for (int p = first; p < last; ++p) mine += counts[kBins - 1 - p];

  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  uint32_t inclusive = mine;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const uint32_t below = __shfl_up_sync(kFullWarp, inclusive, offset);
    if (lane >= offset) inclusive += below;
  }
  if (lane == 31) scratch.warp_sums[warp] = inclusive;
  if (threadIdx.x == 0) scratch.threshold = -INFINITY;
  __syncthreads();
  uint32_t before = inclusive - mine;
  for (int w = 0; w < warp; ++w) before += scratch.warp_sums[w];
  if (before < rank && before + mine >= rank) {
    int p = first;
    while (p + 1 < last && before + counts[kBins - 1 - p] < rank) before += counts[kBins - 1 - p++];
    // verify: lemma one-thread-reaches-rank
    scratch.threshold = bin_floor(kBins - 1 - p);
  }
  __syncthreads();
  return scratch.threshold;
}

// Copies a histogram that atomics of other blocks have filled to shared memory. Called by all threads of the
// block; ends with a barrier. Both pointers must be 16-byte aligned.
__device__ inline void load_histogram(uint32_t* shared, const uint32_t* global) {
  for (int i = static_cast<int>(threadIdx.x); i < kBins / 4; i += static_cast<int>(blockDim.x))
    reinterpret_cast<uint4*>(shared)[i] = __ldcg(reinterpret_cast<const uint4*>(global) + i);
  __syncthreads();
}

// Adds a block's own counts to those of all blocks. Called by all threads of the block; begins with a
// barrier. `shared` must not be changed before the next barrier.
__device__ inline void add_histogram(uint32_t* global, const uint32_t* shared) {
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kBins; i += static_cast<int>(blockDim.x))
    if (shared[i] != 0) atomicAdd(global + i, shared[i]);
}

}  // namespace glove::gpu
