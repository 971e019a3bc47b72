// The integer dot products of one tile of 4-bit codes with a two-plane query, with one warp.
#pragma once

#include <cstdint>

#include "gpu/primitives/warp/tile_dots.cuh"

namespace glove::gpu {

// TileSums for words of eight components: four in the low halves of a word's bytes and the next four in the
// high halves. The sums are those of the unsigned halves v, and not of the codes 2v - 15.
struct NibbleSums : TileSums {
  using Planes = uint4;  // four high query codes, four low ones, and the same for the next four components

  __device__ void add(uint4 codes, Planes planes) {
    add_row(0, codes.x, planes);
    add_row(1, codes.y, planes);
    add_row(2, codes.z, planes);
    add_row(3, codes.w, planes);
  }

 private:
  __device__ void add_row(int row, uint32_t word, uint4 planes) {
    const auto first = static_cast<int>(word & 0x0f0f0f0fu);
    const auto second = static_cast<int>(word >> 4 & 0x0f0f0f0fu);
    high[row] = __dp4a(first, static_cast<int>(planes.x), high[row]);
    low[row] = __dp4a(first, static_cast<int>(planes.y), low[row]);
    high[row] = __dp4a(second, static_cast<int>(planes.z), high[row]);
    low[row] = __dp4a(second, static_cast<int>(planes.w), low[row]);
  }
};

}  // namespace glove::gpu
