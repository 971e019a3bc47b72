// Row codes of 4 bits: a copy of the unit vectors of half the size of the int8 codes (model/quantize.h),
// which a search reads first. docs/format.md specifies the bytes in a file.
#pragma once

#include <cstdint>

#include "model/quantize.h"

namespace glove {

constexpr int64_t kNibbleGroup = 8;      // components of one row that are adjacent in a tile
constexpr int64_t kNibbleWordBytes = 4;  // the bytes that hold them

// Codes are stored as [ceil(n/32)][ceil(d/8)][32][4]: tiles of 32 rows, in words of eight components per row.
// Component i of a word is in byte i % 4: in its low four bits if i < 4, and in the high ones otherwise. Four
// bits v, 0..15, are the code c = 2v - 15, an odd number in [-15, 15], so
//
//   sum(c * Q) = 2 * sum(v * Q) - 15 * sum(Q)
//
// Rows past n and components past d have v = 0. A query's codes are zero past d, so they add nothing.
constexpr int64_t nibble_words(int64_t dims) {
  return (dims + kNibbleGroup - 1) / kNibbleGroup;
}
constexpr int64_t nibble_bytes(int64_t rows, int64_t dims) {
  return tile_count(rows) * nibble_words(dims) * kTileRows * kNibbleWordBytes;
}
// Returns the byte of a component.
constexpr int64_t nibble_index(int64_t row, int64_t component, int64_t dims) {
  return ((row / kTileRows * nibble_words(dims) + component / kNibbleGroup) * kTileRows + row % kTileRows) *
             kNibbleWordBytes +
         component % kNibbleWordBytes;
}
// Returns the position of its lowest bit in that byte.
constexpr int nibble_shift(int64_t component) {
  return component % kNibbleGroup < kNibbleWordBytes ? 0 : 4;
}
// Returns the code c of a component, given its byte.
constexpr int nibble_code(int8_t byte, int64_t component) {
  return 2 * (static_cast<uint8_t>(byte) >> nibble_shift(component) & 15) - 15;
}

// The four bits of each component in the four bytes of a word.
struct NibbleMasks {
  int32_t low = 0x0F0F0F0F;   // of components 0 to 3
  int32_t high = 0x0F0F0F0F;  // of components 4 to 7, once the word is shifted right by four

  // Of a full word.
  constexpr NibbleMasks() = default;
  // Of the last word of a row, without the bits past dims.
  constexpr explicit NibbleMasks(int64_t dims) {
    const auto count = static_cast<int>((dims - 1) % kNibbleGroup) + 1;
    low = count < 4 ? low >> 8 * (4 - count) : low;
    high = count <= 4 ? 0 : high >> 8 * (8 - count);
  }
};

// Quantises one row: writes nibble_words(dims) words that begin `stride` bytes apart. With u = x/|x| in
// double, the row gets codes c, a scale s > 0 and the residual r = ||u - s*c|| * (1 + 2^-40) + 2^-40, rounded
// up to float and computed with the stored s. Of eight scales from half the largest component over 15
// upwards, the one whose codes are nearest to u is used, and s then fits those codes best. A zero row gets v
// = 0, scale 0 and residual +infinity, as in quantize_row. REQUIRES: the float environment; x[dims] is
// finite, and norm_squared = D(x, x).
void quantize_row_nibbles(const float* x, double norm_squared, int64_t dims, int8_t* codes, int64_t stride,
                          float& scale, float& residual);

// Returns the same bits without SIMD, for comparison.
void quantize_row_nibbles_plain(const float* x, double norm_squared, int64_t dims, int8_t* codes,
                                int64_t stride, float& scale, float& residual);

}  // namespace glove
