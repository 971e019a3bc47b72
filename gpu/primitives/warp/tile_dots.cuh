// Computes the integer dot products of one tile of 32 rows with a two-plane query, with one warp.
#pragma once

#include <cstdint>

#include "gpu/layout/tile.h"
#include "gpu/primitives/warp/reduce.cuh"

namespace glove::gpu {

// Lane l reads one quad at a time: four components of rows 4 * (l mod 8) .. + 3, for every fourth group of
// components starting with group l / 8 (kQuadsPerGroup = 8, kRowsPerQuad = 4). Each load of the warp is
// therefore 512 consecutive bytes, and so are the loads of a whole tile.
struct TileSums {
  using Planes = uint2;  // of a group: four high codes and four low ones

  int high[4] = {};
  int low[4] = {};

  __device__ void add(uint4 codes, Planes planes) {
    high[0] = __dp4a(static_cast<int>(codes.x), static_cast<int>(planes.x), high[0]);
    low[0] = __dp4a(static_cast<int>(codes.x), static_cast<int>(planes.y), low[0]);
    high[1] = __dp4a(static_cast<int>(codes.y), static_cast<int>(planes.x), high[1]);
    low[1] = __dp4a(static_cast<int>(codes.y), static_cast<int>(planes.y), low[1]);
    high[2] = __dp4a(static_cast<int>(codes.z), static_cast<int>(planes.x), high[2]);
    low[2] = __dp4a(static_cast<int>(codes.z), static_cast<int>(planes.y), low[2]);
    high[3] = __dp4a(static_cast<int>(codes.w), static_cast<int>(planes.x), high[3]);
    low[3] = __dp4a(static_cast<int>(codes.w), static_cast<int>(planes.y), low[3]);
  }

  // Adds the sums of the four lanes that share rows. Lane l gets the sum of row_of_lane(l). All lanes must
  // call it.
  __device__ int finish(int lane) {
    int sums[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[i] = high[i] * 128 + low[i];
    const bool second_pair = (lane & 16) != 0;
    const int kept0 = second_pair ? sums[2] : sums[0];
    const int kept1 = second_pair ? sums[3] : sums[1];
    const int sent0 = second_pair ? sums[0] : sums[2];
    const int sent1 = second_pair ? sums[1] : sums[3];
    const int pair0 = kept0 + __shfl_xor_sync(kFullWarp, sent0, 16);
    const int pair1 = kept1 + __shfl_xor_sync(kFullWarp, sent1, 16);
    const bool second = (lane & 8) != 0;
    return (second ? pair1 : pair0) + __shfl_xor_sync(kFullWarp, second ? pair0 : pair1, 8);
  }
};

// Returns the row of the tile whose sum lane l holds.
__device__ inline int row_of_lane(int lane) {
  return (lane & 7) * 4 + (lane >> 4) * 2 + ((lane >> 3) & 1);
}

// Returns the lane that holds the sum of a row of the tile.
__device__ inline int lane_of_row(int row) {
  return row >> 2 | (row & 2) << 3 | (row & 1) << 3;
}

// Returns the sum of row_of_lane(lane).
//   tile    kQuadsPerGroup * groups quads in global memory, 16-byte aligned; they are read once and hinted to
//           leave the cache first
//   planes  [groups] in shared memory
//   kBatch  16-byte loads in flight per lane
template <int kBatch, class Sums>
__device__ inline int tile_dot(const uint4* tile, const typename Sums::Planes* planes, int groups, int lane) {
  Sums sums;
  const int skipped = lane >> 3;
  for (int first = 0; first < groups; first += 4 * kBatch) {
    uint4 codes[kBatch];
    const int base = first + skipped;
    const uint4* mine = tile + base * kQuadsPerGroup + (lane & 7);
    if (first + 4 * kBatch <= groups) {
#pragma unroll
      for (int i = 0; i < kBatch; ++i) codes[i] = __ldcs(mine + kWarpLanes * i);
#pragma unroll
      for (int i = 0; i < kBatch; ++i) sums.add(codes[i], planes[base + 4 * i]);
    } else {
#pragma unroll
      for (int i = 0; i < kBatch; ++i)
        codes[i] = base + 4 * i < groups ? __ldcs(mine + kWarpLanes * i) : make_uint4(0, 0, 0, 0);
#pragma unroll
      for (int i = 0; i < kBatch; ++i)
        if (base + 4 * i < groups) sums.add(codes[i], planes[base + 4 * i]);
    }
  }
  return sums.finish(lane);
}

}  // namespace glove::gpu
