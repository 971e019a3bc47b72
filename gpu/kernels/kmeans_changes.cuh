// Lists that the kernels of k-means append to, a warp at a time.
#pragma once

#include "gpu/kernels/kmeans.h"
#include "gpu/layout/tile.h"
#include "gpu/primitives/warp/reduce.cuh"

namespace glove::gpu {

// Makes room for one element of every lane that `wants` one, and returns the lane's place. Called by a whole
// warp.
__device__ inline uint32_t append(uint32_t* count, bool wants) {
  const uint32_t lanes = __ballot_sync(kFullWarp, wants);
  if (lanes == 0) return 0;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int leader = __ffs(static_cast<int>(lanes)) - 1;
  uint32_t first = 0;
  if (lane == leader) first = atomicAdd(count, static_cast<uint32_t>(__popc(lanes)));
  first = __shfl_sync(kFullWarp, first, leader);
  return first + static_cast<uint32_t>(__popc(lanes & ((1u << lane) - 1)));
}

// Moves the rows of the lanes that `want` it to another cluster. Called by a whole warp.
__device__ inline void list_change(const KMeansParams& params, int32_t row, int32_t from, int32_t to,
                                   bool wants) {
  const uint32_t place = append(&params.counters->changes, wants);
  if (!wants) return;
  // verify: lemma own-place
  params.fit.changes[place] = {row, from, to};
  // verify: lemma row-listed-once
  params.fit.labels[row] = to;
}

}  // namespace glove::gpu
