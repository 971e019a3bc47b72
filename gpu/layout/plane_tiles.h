// Plane one or the sign plane of a part (lists/planes.h, lists/sign_plane.h) as a device reads it: a row's
// bound beside its codes, and the lists of its positions tile by tile, without the lists that have no rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/layout/device_part.h"
#include "lists/planes.h"
#include "lists/sign_plane.h"
#include "model/model_part.h"

namespace glove::gpu {

// Of plane one a row has its plane_row_bytes(dims) bytes, zeros, and in the last six bytes its bound. A tile
// has the words of its rows in fours, [row words / 4][32 rows][4], and then the others, [row words % 4][32
// rows].
constexpr int64_t plane_row_words(int64_t dims) {
  return (plane1_row_bytes(dims) + 3) / 4;
}
constexpr int64_t plane_tile_words(int64_t dims) {
  return kTileRows * plane_row_words(dims);
}
// Where a tile has a word of a row.
constexpr int64_t plane_word_index(int64_t row, int64_t word, int64_t dims) {
  const int64_t in_fours = plane_row_words(dims) / 4 * 4;
  return word < in_fours ? (word / 4 * kTileRows + row) * 4 + word % 4 : word * kTileRows + row;
}

// Of signs a row has sign_words(bits) words, rounded up to a multiple of four. A tile has them as
// bit_multiply_add() takes the rows of its halves (gpu/primitives/warp/bit_matrix.cuh): groups of eight,
// [groups][2 halves][32 lanes][4], four that may be left, [2 halves][32 lanes][2], and then the bounds, [32
// lanes][2 words], each with zeros before its six bytes, lane l that of row l / 4 + 8 * (l % 4).
constexpr int64_t padded_sign_words(int64_t bits) {
  return (sign_words(bits) + 3) / 4 * 4;
}
constexpr int64_t sign_tile_words(int64_t bits) {
  return kTileRows * (padded_sign_words(bits) + 2);
}
// Where a tile has a word of a row, and the first of the two words of its bound.
constexpr int64_t sign_word_index(int64_t row, int64_t word, int64_t bits) {
  const int64_t groups = padded_sign_words(bits) / 8;
  const int64_t half = row / 16;
  const int64_t lane = row % 8 * 4 + word % 4;
  const int64_t second = row % 16 / 8;
  if (word < groups * 8) return ((word / 8 * 2 + half) * 32 + lane) * 4 + word % 8 / 4 * 2 + second;
  return groups * 8 * kTileRows + (half * 32 + lane) * 2 + second;
}
constexpr int64_t sign_bound_index(int64_t row, int64_t bits) {
  return kTileRows * padded_sign_words(bits) + (row % 8 * 4 + row / 8) * 2;
}
// The bytes of shared memory for the codes of a query, of which each plane has a bit per component.
constexpr int64_t sign_code_bytes(int64_t bits) {
  return padded_sign_words(bits) * 32;
}

// Some rows of a part in the order of its lists.
struct RowsInLists {
  std::vector<int32_t> positions;  // of each in the PlaneLevel, ascending
  std::vector<int32_t> rows;       // likewise, counted from the first of them
  std::vector<int64_t> offsets;    // [lists + 1], of these rows alone
};
// Returns rows [first, first + count). Damaged lists may have some of them more than once, or not at all.
// REQUIRES: planes.offsets begin with 0, ascend, and end with at most planes.rows.size().
RowsInLists rows_in_lists(const PlaneLevel& planes, int64_t first, int64_t count);

// Return the words of all tiles of the rows at these positions.
std::vector<uint32_t> plane_tiles(const PlaneLevel& planes, std::span<const int32_t> positions, int64_t dims);
// REQUIRES: planes.has_signs()
std::vector<uint32_t> sign_tiles(const PlaneLevel& planes, std::span<const int32_t> positions, int64_t dims);

// The lists that have rows, numbered in order.
struct ListedTiles {
  std::vector<TileLists> tiles;
  std::vector<int64_t> lists;  // the list of each number in `tiles`
};

// offsets: [lists + 1], as in PlaneLevel. REQUIRES: they begin with 0 and ascend.
ListedTiles tiles_of_lists(std::span<const int64_t> offsets);

}  // namespace glove::gpu
