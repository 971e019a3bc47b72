// The reference arithmetic, which defines similarity to the last bit on every machine, instruction set and
// device (docs/exactness.md).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "base/require.h"

namespace glove {

// Returns D(a, b) for `dims` finite float32 components. For l in 0..7, p_l is the double sum of a[j]*b[j]
// over j = l mod 8, in ascending order of j, starting from +0.0. The result is ((p0+p4)+(p2+p6)) +
// ((p1+p5)+(p3+p7)). The product of two floats is exact in double, so fused and separate multiply-add agree,
// and the fixed order makes all instruction sets agree. REQUIRES: the float environment of
// float_environment.h.
double exact_dot(const float* a, const float* b, int64_t dims);
// The same sums of products that are rounded to double.
double exact_dot(const double* a, const float* b, int64_t dims);

// Adds eight sums, [8], in the order of D.
template <class T>
T sum_of_lanes(const T* p) {
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

// D(a, b) of vectors that are read piece by piece, with the same bits.
class PiecewiseDot {
 public:
  // Adds the next `count` components. REQUIRES: every piece but the last has a multiple of 8 components.
  void add(const float* a, const float* b, int64_t count);
  double value() const { return sum_of_lanes(lanes_.data()); }

 private:
  std::array<double, 8> lanes_{};
};

// Returns the cosine D(q,x) / sqrt(D(q,q) * D(x,x)), clamped to [-1, 1]. Because the root is taken of the
// product, a vector's cosine with itself is exactly 1 and no norm overflows. REQUIRES: both norms > 0.
inline double cosine_from_dots(double dot, double norm_squared_a, double norm_squared_b) {
  GLOVE_REQUIRE(norm_squared_a > 0 && norm_squared_b > 0);
  const double cosine = dot / std::sqrt(norm_squared_a * norm_squared_b);
  return cosine > 1.0 ? 1.0 : cosine < -1.0 ? -1.0 : cosine;
}

}  // namespace glove
