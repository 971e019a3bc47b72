// Plane one of a part (lists/planes.h) as a device reads it: a row's bound beside its codes, and the lists of
// its positions tile by tile, without the lists that have no rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/layout/device_part.h"
#include "lists/planes.h"
#include "model/model_part.h"

namespace glove::gpu {

// A row has its plane_row_bytes(dims) bytes, zeros, and in the last six bytes its bound. A tile has the words
// of its rows in fours, [words / 4][32 rows][4], and then the others, [words % 4][32 rows].
constexpr int64_t plane_row_words(int64_t dims) {
  return (plane1_row_bytes(dims) + 3) / 4;
}
constexpr int64_t plane_words(int64_t rows, int64_t dims) {
  return tile_count(rows) * kTileRows * plane_row_words(dims);
}
// Where a tile has a word of a row.
constexpr int64_t plane_word_index(int64_t row, int64_t word, int64_t dims) {
  const int64_t in_fours = plane_row_words(dims) / 4 * 4;
  return word < in_fours ? (word / 4 * kTileRows + row) * 4 + word % 4 : word * kTileRows + row;
}

// Returns the words of all tiles.
std::vector<uint32_t> plane_tiles(const PlaneLevel& planes, int64_t rows, int64_t dims);

// The lists that have rows, numbered in order.
struct ListedTiles {
  std::vector<TileLists> tiles;
  std::vector<int64_t> lists;  // the list of each number in `tiles`
};

// offsets: [lists + 1], as in PlaneLevel. REQUIRES: they begin with 0 and ascend.
ListedTiles tiles_of_lists(std::span<const int64_t> offsets);

}  // namespace glove::gpu
