// Codes of 2 and of 4 bits of rows in lists, and the bound that they imply (docs/exactness.md, "Planes").
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "model/bound.h"
#include "model/quantize.h"

namespace glove {

constexpr int64_t kPlaneGroup = 16;      // components of one row that are adjacent
constexpr int64_t kPlaneWordBytes = 4;   // the bytes that hold two bits of each of them
constexpr int64_t kPlaneParts = 4;       // components per byte
constexpr int64_t kPlaneBounds = 3;      // the numbers of a PlaneBound
constexpr int64_t kMaxPlaneDims = 4096;  // so that sums of products fit 32 bits

// A row has ceil(d/4) bytes in either plane: words of 4 bytes, of which the last may have 1 to 3. Component i
// of a word of w bytes is in the bits 2 * (i / w) and 2 * (i / w) + 1 of byte i % w. Two bits v1 of plane one
// are the code 2 * v1 - 3, an odd number in [-3, 3]; together with the bits v2 of plane two they are the code
// 2 * (4 * v1 + v2) - 15, an odd number in [-15, 15]. Bits past n and d are 0.
constexpr int64_t plane_row_bytes(int64_t dims) {
  return (dims + kPlaneParts - 1) / kPlaneParts;
}

// Where a row has the two bits of component j, which may be one past d in the last byte.
struct PlanePlace {
  int64_t byte;
  int shift;

  constexpr int bits(int byte_value) const { return byte_value >> shift & 3; }
};
constexpr PlanePlace plane_place(int64_t j, int64_t dims) {
  const int64_t first = j / kPlaneGroup * kPlaneWordBytes;
  const int64_t width = std::min(kPlaneWordBytes, plane_row_bytes(dims) - first);
  return {first + j % kPlaneGroup % width, static_cast<int>(2 * (j % kPlaneGroup / width))};
}

// A tile of plane one has its words of 4 bytes as [words][32][4], and the bytes of the last word, if they are
// fewer, as [bytes][32].
constexpr int64_t plane1_bytes(int64_t rows, int64_t dims) {
  return tile_count(rows) * kTileRows * plane_row_bytes(dims);
}
// The bytes of a row that a scan of plane one reads, with those of its bound.
constexpr int64_t plane1_row_bytes(int64_t dims) {
  return plane_row_bytes(dims) + kPlaneBounds * static_cast<int64_t>(sizeof(uint16_t));
}
// The offset in plane one of a byte of the row at a position.
constexpr int64_t plane1_index(int64_t position, int64_t byte, int64_t dims) {
  const int64_t tile = position / kTileRows * kTileRows * plane_row_bytes(dims);
  const int64_t row = position % kTileRows;
  const int64_t word = byte / kPlaneWordBytes * kPlaneWordBytes;
  const bool is_whole = word + kPlaneWordBytes <= plane_row_bytes(dims);
  return tile + word * kTileRows +
         (is_whole ? row * kPlaneWordBytes + byte - word : (byte - word) * kTileRows + row);
}

// The numbers of a row and a plane, three halves as their bits. With the row's unit vector u, its centroid m
// and its codes c,
//
//   b = centroid * m + code * c  satisfies  <u, b> >= 1  and  |b - <u, b> u| <= distance,
//
// code >= 0, and largest code * code * sqrt(d), centroid * |m| and a finite distance are at most
// kMostPlaneTerm. A row without such numbers has 0, 0 and infinity; a zero row has three zeros, and no other
// row has distance 0.
struct PlaneBound {
  uint16_t centroid = 0;
  uint16_t code = 0;
  uint16_t distance = 0;
};
constexpr double kMostPlaneTerm = 8;

// Stores the bound of the row at `position` in `bounds`, uint16 [tiles, kPlaneBounds, kTileRows].
inline void store_bound(const PlaneBound& bound, int64_t position, uint16_t* bounds) {
  uint16_t* const tile = bounds + position / kTileRows * kPlaneBounds * kTileRows + position % kTileRows;
  tile[0] = bound.centroid;
  tile[kTileRows] = bound.code;
  tile[2 * kTileRows] = bound.distance;
}

// Plane two has the bytes of each row, one of padding if their number is odd, and then its bound of both
// planes, so that whoever reads a row of at most 100 components reads one line of memory.
constexpr int64_t plane2_bound_offset(int64_t dims) {
  return (plane_row_bytes(dims) + 1) / 2 * 2;
}
constexpr int64_t plane2_row_bytes(int64_t dims) {
  return plane2_bound_offset(dims) + kPlaneBounds * static_cast<int64_t>(sizeof(uint16_t));
}
inline PlaneBound plane2_bound(const uint8_t* row, int64_t dims) {
  PlaneBound bound;
  static_assert(sizeof(bound) == kPlaneBounds * sizeof(uint16_t));
  std::memcpy(&bound, row + plane2_bound_offset(dims), sizeof(bound));
  return bound;
}

// More than the roundings of <b, v> + distance * sine in float, whose terms are at most 3 * kMostPlaneTerm.
constexpr float kPlaneSlack = 0x1p-16f;

// A threshold of similarity in the form in which a scan compares: a row whose similarity reaches it does not
// have <b, v> + distance * sine < limit, in float and in any order. A threshold of 0 or less rules out
// nothing.
struct PlaneTest {
  explicit PlaneTest(float threshold) {
    if (!(threshold > 0)) return;
    const double cosine = threshold;
    sine = static_cast<float>(std::sqrt(std::max(0.0, 1 - cosine * cosine))) + kPlaneSlack;
    limit = threshold - kPlaneSlack;
  }
  float sine = 1;
  float limit = -std::numeric_limits<float>::infinity();
};

// Returns the largest similarity to a query's unit vector v that a row with this <b, v> and distance may
// have, rounded up: the root t in [0, 1] of <b, v> + distance * sqrt(1 - t^2) = t, which has none above 1.
inline float largest_similarity(double product, double distance) {
  const double squares = 1 + distance * distance;
  if (!(squares < std::numeric_limits<double>::infinity()) || !(product < 1)) return 1.0f;
  const double under_root = std::max(0.0, squares - product * product);
  const double largest = (product + distance * std::sqrt(under_root)) / squares;
  return static_cast<float>(std::max(largest, 0.0)) + 4 * kPlaneSlack;
}

// The product of a row's codes with the query's unit vector is at most start + step * (sum of the products of
// the row's bits and the query's codes).
struct PlaneLine {
  float step, start;

  float operator()(int32_t sum) const { return static_cast<float>(sum) * step + start; }
};

// Returns the line for codes that are twice the bits less `most`. `bound` is that of the query's codes Q,
// with their scale and sum.
PlaneLine upper_line(const QueryBound& bound, double scale, int64_t code_sum, double most, int64_t dims);

// Encodes one row: writes its plane_row_bytes(dims) bytes of plane one and its plane2_row_bytes(dims) of
// plane two, and returns the numbers of plane one. The centroid's norm_squared is D(m, m) > 0. REQUIRES: the
// float environment; x[dims] is finite, norm_squared = D(x, x), and dims <= kMaxPlaneDims. With a sine in
// [0, 1) the numbers hold for every unit vector whose angle to x has at most this sine.
PlaneBound encode_planes(const float* x, double norm_squared, const float* centroid,
                         double centroid_norm_squared, int64_t dims, uint8_t* plane1, uint8_t* plane2,
                         double sine = 0);

}  // namespace glove
