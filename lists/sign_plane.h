// The sign plane of rows in lists: codes of 1 bit of rows that a random rotation has turned, and the bound
// that they imply with a given certainty (docs/exactness.md, "Certainty").
#pragma once

#include <cstdint>
#include <span>

#include "lists/planes.h"
#include "lists/rotation.h"
#include "model/quantize.h"

namespace glove {

constexpr int64_t kSignGroup = 32;  // components of one row that are adjacent, in a word of 4 bytes
constexpr int64_t kSignWordBytes = 4;

// How many rows of a rotation these are, [bits, dims]: a row has so many rotated components.
inline int64_t sign_bits_of(std::span<const float> rotation, int64_t dims) {
  return static_cast<int64_t>(rotation.size()) / dims;
}

// A row has the bit of component j in word j / 32: bit j % 32 / 4 of byte j % 4. A bit v is the code 2 v - 1.
// Bits past n and d are 0. A tile has its words as [words][32][4].
constexpr int64_t sign_words(int64_t dims) {
  return (dims + kSignGroup - 1) / kSignGroup;
}
constexpr int64_t sign_bytes(int64_t rows, int64_t dims) {
  return tile_count(rows) * kTileRows * sign_words(dims) * kSignWordBytes;
}
// The bytes of a row that a scan reads, with those of its bound.
constexpr int64_t sign_row_bytes(int64_t dims) {
  return sign_words(dims) * kSignWordBytes + kPlaneBounds * static_cast<int64_t>(sizeof(uint16_t));
}

// Where the row at a position has the bit of component j.
struct SignPlace {
  int64_t byte;
  int shift;
};
constexpr SignPlace sign_place(int64_t position, int64_t j, int64_t dims) {
  const int64_t word = position / kTileRows * sign_words(dims) + j / kSignGroup;
  return {(word * kTileRows + position % kTileRows) * kSignWordBytes + j % kSignWordBytes,
          static_cast<int>(j % kSignGroup / kSignWordBytes)};
}

// The vectors that a row is encoded with. `rotated` is R x / |x| and `rotated_centroid` R m, in float,
// [bits]: R has so many rows of a rotation.
struct SignRow {
  const float* x;
  const float* rotated;
  double norm_squared;  // D(x, x)
  const float* centroid;
  const float* rotated_centroid;
  double centroid_norm_squared;  // D(m, m) > 0
};

// Returns the numbers of a row and its `bits` codes of 1 bit, three halves as their bits. With the row's unit
// vector u, its centroid m, the rotation R and the codes c,
//
//   b = centroid * m + code * R^T c  satisfies  <u, b> >= 1  and  |g| + |f| / kLeastSignFactor <= distance,
//
// where f is the part of b - <u, b> u in the plane of u and m, and g is what is left of it; centroid >= 0.
// The limits are those of PlaneBound (lists/planes.h), and so is what a zero row has, and one without such
// numbers. Sets the bits of `codes`, one for each rotated component. With a sine in [0, 1) the numbers
// suffice for every row whose angle to u has at most this sine. REQUIRES: the float environment; the vectors
// have `dims` finite components.
PlaneBound encode_signs(const SignRow& row, int64_t dims, int64_t bits, bool* codes, double sine = 0);

// Whether these are such numbers, by dims^2 products. Of the row it reads neither the rotated vectors nor the
// centroid's norm; `rotation` is [dims, dims].
bool describes(const SignRow& row, std::span<const float> rotation, const bool* codes,
               const PlaneBound& bound);

}  // namespace glove
