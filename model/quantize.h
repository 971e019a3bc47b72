// Row codes: the compact int8 copy of the unit vectors that backends scan, with the bound that makes an
// approximate scan exact (docs/exactness.md). docs/format.md specifies the bytes in a file.
#pragma once

#include <bit>
#include <cstdint>

#include "base/require.h"

namespace glove {

constexpr int64_t kTileRows = 32;       // rows per tile of codes
constexpr int64_t kTileComponents = 4;  // components of one row that are adjacent in a tile

// Codes are stored as [ceil(n/32)][ceil(d/4)][32][4]: tiles of 32 rows, in groups of four components per row.
// Rows past n and components past d are zero.
constexpr int64_t tile_count(int64_t rows) {
  return (rows + kTileRows - 1) / kTileRows;
}
constexpr int64_t component_groups(int64_t dims) {
  return (dims + kTileComponents - 1) / kTileComponents;
}
constexpr int64_t code_bytes(int64_t rows, int64_t dims) {
  return tile_count(rows) * component_groups(dims) * kTileRows * kTileComponents;
}
constexpr int64_t code_index(int64_t row, int64_t component, int64_t dims) {
  return ((row / kTileRows * component_groups(dims) + component / kTileComponents) * kTileRows +
          row % kTileRows) *
             kTileComponents +
         component % kTileComponents;
}

// Returns the least float that is not below `value`. REQUIRES: value > 0 and finite.
inline float round_up_to_float(double value) {
  GLOVE_REQUIRE(value > 0);
  const float rounded = static_cast<float>(value);
  return static_cast<double>(rounded) < value ? std::bit_cast<float>(std::bit_cast<uint32_t>(rounded) + 1)
                                              : rounded;
}

// Returns the residual to store for a computed distance between a unit vector and its codes: more than the
// distance by more than the rounding of the sums that computed it (docs/exactness.md). REQUIRES: as above,
// but zero is allowed.
inline float residual_of_distance(double distance) {
  constexpr double kRelativeSlack = 0x1p-40;
  constexpr double kAbsoluteSlack = 0x1p-40;
  return round_up_to_float(distance * (1.0 + kRelativeSlack) + kAbsoluteSlack);
}

// Quantises one row: writes dims codes, in groups of four that begin `stride` bytes apart. Bytes of an
// incomplete last group beyond the codes are not changed. With u = x/|x| in double, the row gets codes c in
// [-127, 127], a scale s > 0 and the residual r = ||u - s*c|| * (1 + 2^-40) + 2^-40, rounded up to float and
// computed with the stored s. A zero row gets codes 0, scale 0 and residual +infinity: its lower bound is
// -infinity and its upper bound +infinity, so a scan can neither raise a threshold because of it nor wrongly
// drop it.
// REQUIRES: the float environment; x[dims] is finite, and norm_squared = D(x, x).
void quantize_row(const float* x, double norm_squared, int64_t dims, int8_t* codes, int64_t stride,
                  float& scale, float& residual);

// Returns the same bits without SIMD, for comparison.
void quantize_row_plain(const float* x, double norm_squared, int64_t dims, int8_t* codes, int64_t stride,
                        float& scale, float& residual);

}  // namespace glove
