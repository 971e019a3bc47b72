// What the scans of 4-bit codes and of planes share: the threshold from promising rows, and the lookup of
// rows in the 8-bit codes.
#pragma once

#include <cstdint>

#include "gpu/kernels/single_query.cuh"
#include "gpu/layout/packed_rows.h"

namespace glove::gpu {

constexpr int kQuadLoads = 5;    // 16-byte quads of a packed row in flight per lane
constexpr int kLookupLanes = 4;  // lanes that look up one packed row

// The best row that a lane has seen; -1 if there is none.
struct Best {
  float estimate = -INFINITY;
  int row = -1;
};

// Counts the exact similarities of the best of the warp's lanes. They are lower bounds, of different rows.
__device__ inline void count_seeds(const SingleScanParams& scan, int seeds_per_warp, const float* query,
                                   Best best, int lane) {
  for (int first = 0; first < seeds_per_warp; first += 4) {
    int row = -1;
    for (int team = 0; team < min(4, seeds_per_warp - first); ++team) {
      const float top = warp_max(best.estimate);
      const int winner = __ffs(static_cast<int>(__ballot_sync(kFullWarp, best.estimate == top))) - 1;
      const int seed = __shfl_sync(kFullWarp, best.row, winner);
      if (lane == winner) best = Best();
      if (lane >> 3 == team) row = seed;
    }
    const double similarity = team_similarity(scan, query, row, lane);
    if ((lane & 7) == 0 && similarity > kNoSimilarity)
      atomicAdd(scan.counters->histogram + bin_of(__double2float_rd(similarity)), 1u);
  }
}

// Returns the bound that the packed row of a team of four lanes implies, in all lanes of the team; a team
// without a row passes row < 0 and gets kNoBound. Called by whole warps.
__device__ inline RowBound packed_row_bound(const SingleScanParams& scan, const uint4* planes, int row,
                                            int lane) {
  const int quads = static_cast<int>(packed_row_bytes(scan.part.dims) / 16);
  const uint4* from =
      reinterpret_cast<const uint4*>(scan.part.packed_rows) + static_cast<int64_t>(max(row, 0)) * quads;
  int high = 0;
  int low = 0;
  float scale = 0;
  float residual = INFINITY;
  const auto add = [&](uint32_t codes, uint32_t high_plane, uint32_t low_plane) {
    high = __dp4a(static_cast<int>(codes), static_cast<int>(high_plane), high);
    low = __dp4a(static_cast<int>(codes), static_cast<int>(low_plane), low);
  };
  for (int base = lane % kLookupLanes; base < quads && row >= 0; base += kLookupLanes * kQuadLoads) {
    uint4 codes[kQuadLoads];
#pragma unroll
    for (int i = 0; i < kQuadLoads; ++i)
      codes[i] =
          base + kLookupLanes * i < quads ? __ldg(from + base + kLookupLanes * i) : make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < kQuadLoads; ++i) {
      const int quad = base + kLookupLanes * i;
      if (quad >= quads) continue;
      if (quad == quads - 1) {
        scale = __uint_as_float(codes[i].z);
        residual = __uint_as_float(codes[i].w);
        codes[i].z = 0;
        codes[i].w = 0;
      }
      const uint4 front = planes[2 * quad];
      const uint4 back = planes[2 * quad + 1];
      add(codes[i].x, front.x, front.y);
      add(codes[i].y, front.z, front.w);
      add(codes[i].z, back.x, back.y);
      add(codes[i].w, back.z, back.w);
    }
  }
  int sum = high * 128 + low;
#pragma unroll
  for (int offset = 1; offset < kLookupLanes; offset *= 2) sum += __shfl_xor_sync(kFullWarp, sum, offset);
  const int last = (lane & ~(kLookupLanes - 1)) + (quads - 1) % kLookupLanes;
  scale = __shfl_sync(kFullWarp, scale, last);
  residual = __shfl_sync(kFullWarp, residual, last);
  return row_bound(sum, scale, residual, scan.bound);
}

}  // namespace glove::gpu
