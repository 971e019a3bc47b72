// Computes the integer dot products of one tile of 32 rows with 32 one-plane queries on the int8 tensor
// cores, with one warp.
#pragma once

#include "gpu/layout/tile.h"
#include "gpu/primitives/warp/matrix.cuh"

namespace glove::gpu {

// Sums start at this integer, which has the bits of the float 1.5 * 2^23. As long as |sum| < 2^22, the bits
// of the result are those of the float 1.5 * 2^23 + sum, so no conversion is needed.
constexpr int kSumBits = 0x4B400000;
constexpr float kSumFloat = 12582912.0f;

// The tile's codes of one step: eight groups of components of rows 4g .. 4g+3, where g = lane / 4.
struct TileStep {
  uint4 front;  // group t = lane mod 4
  uint4 back;   // group t + 4
};

// Loads one step of a tile; groups past the last one are zeros.
__device__ inline TileStep load_step(const uint4* tile, int groups, int step, int lane) {
  const uint4 zero = make_uint4(0, 0, 0, 0);
  const int group = step * kStepGroups + (lane & 3);
  TileStep loaded;
  loaded.front = group < groups ? __ldg(tile + group * kQuadsPerGroup + (lane >> 2)) : zero;
  loaded.back = group + 4 < groups ? __ldg(tile + (group + 4) * kQuadsPerGroup + (lane >> 2)) : zero;
  return loaded;
}

// The sums of four blocks of eight queries with 32 rows.
struct ChunkSums {
  int value[2][4]
           [4];  // [rows 0, 1 or 2, 3 of the lane's four][block of eight queries][matrix_multiply_add's d]

  __device__ void clear() { set_sums(value, kSumBits); }

  // fragments: the step's words for two pairs of blocks, `pair_stride` uint4 apart.
  __device__ void add(const TileStep& tile, const uint4* fragments, int pair_stride) {
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const uint4 words = fragments[pair * pair_stride];
      matrix_multiply_add(value[0][2 * pair], tile.front.x, tile.front.y, tile.back.x, tile.back.y, words.x,
                          words.y);
      matrix_multiply_add(value[1][2 * pair], tile.front.z, tile.front.w, tile.back.z, tile.back.w, words.x,
                          words.y);
      matrix_multiply_add(value[0][2 * pair + 1], tile.front.x, tile.front.y, tile.back.x, tile.back.y,
                          words.z, words.w);
      matrix_multiply_add(value[1][2 * pair + 1], tile.front.z, tile.front.w, tile.back.z, tile.back.w,
                          words.z, words.w);
    }
  }

  // Returns the sum of the lane's row `row` (0..3) and its column `column` (0, 1) of a block.
  __device__ float get(int row, int block, int column) const {
    return __int_as_float(value[row >> 1][block][(row & 1) * 2 + column]) - kSumFloat;
  }
};

}  // namespace glove::gpu
