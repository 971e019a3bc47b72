// Codes of 2 and of 4 bits of rows in lists, and the bound that they imply (docs/exactness.md, "Planes").
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "model/quantize.h"

namespace glove {

constexpr int64_t kPlaneGroup = 16;      // components of one row that are adjacent
constexpr int64_t kPlaneWordBytes = 4;   // the bytes that hold two bits of each of them
constexpr int64_t kPlaneBounds = 3;      // the numbers of a PlaneBound
constexpr int64_t kMaxPlaneDims = 4096;  // so that sums of products fit 32 bits

// Component i of a word of 16 is in the bits 2 * (i / 4) and 2 * (i / 4) + 1 of byte i % 4. Plane one is
// stored as [ceil(n/32)][plane_words(d)][32][4], plane two as [n][plane_words(d)][4]. Two bits v1 of plane
// one are the code 2 * v1 - 3, an odd number in [-3, 3]; together with the bits v2 of plane two they are the
// code 2 * (4 * v1 + v2) - 15, an odd number in [-15, 15]. Bits past n and d are 0.
constexpr int64_t plane_words(int64_t dims) {
  return (dims + kPlaneGroup - 1) / kPlaneGroup;
}
constexpr int64_t plane_row_bytes(int64_t dims) {
  return plane_words(dims) * kPlaneWordBytes;
}
constexpr int64_t plane1_bytes(int64_t rows, int64_t dims) {
  return tile_count(rows) * kTileRows * plane_row_bytes(dims);
}
// The offset in plane one of a word of the row at a position.
constexpr int64_t plane1_index(int64_t position, int64_t word, int64_t dims) {
  return ((position / kTileRows * plane_words(dims) + word) * kTileRows + position % kTileRows) *
         kPlaneWordBytes;
}

// Returns the two bits of component i of a word, given its bytes.
constexpr int plane_bits(const uint8_t* word, int64_t i) {
  return word[i % kPlaneWordBytes] >> 2 * (i / kPlaneWordBytes) & 3;
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

// Encodes one row: writes plane_row_bytes(dims) bytes of each plane, and the numbers of plane one and of
// both. The centroid's norm_squared is D(m, m) > 0. REQUIRES: the float environment; x[dims] is finite,
// norm_squared = D(x, x), and dims <= kMaxPlaneDims. With a sine in [0, 1) the numbers hold for every unit
// vector whose angle to x has at most this sine.
void encode_planes(const float* x, double norm_squared, const float* centroid, double centroid_norm_squared,
                   int64_t dims, uint8_t* plane1, uint8_t* plane2, PlaneBound& bound1, PlaneBound& bound2,
                   double sine = 0);

}  // namespace glove
