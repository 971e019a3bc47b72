// Sums of products of doubles and floats without any rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace glove {

// A number m * 2^exponent. m is 0, or 2^52 <= |m| < 2^53.
struct ScaledNumber {
  double m = 0;
  int exponent = 0;
};

// One sum per component. A product of a finite double and a finite float is a multiple of 2^-1223 below
// 2^1152, so the sums are integers of that unit in fixed point. Integer addition is exact: the order of the
// additions does not matter, and subtract() undoes add() to the last bit. REQUIRES: at most 2^64 products at
// a time.
class ExactSums {
 public:
  explicit ExactSums(size_t dims) : limbs_(dims * kLimbs) {}

  size_t dims() const { return limbs_.size() / kLimbs; }

  // Adds, or takes away, weight * vector[j] for each component j. REQUIRES: all are finite; vector[dims()].
  void add(double weight, std::span<const float> vector) { accumulate(weight, vector, false); }
  void subtract(double weight, std::span<const float> vector) { accumulate(weight, vector, true); }

  // The sum of a component, rounded to 53 bits, to nearest with ties to even.
  ScaledNumber rounded(size_t component) const;

 private:
  static constexpr size_t kLimbs = 39;  // 2,375 bits, 64 for the number of products, and the sign
  static constexpr int kLowestExponent = -1223;

  void accumulate(double weight, std::span<const float> vector, bool negate);

  std::vector<uint64_t> limbs_;  // [dims, kLimbs], two's complement, least significant limb first
};

// The quotient of two sums as the nearest float to the double quotient of the rounded sums. REQUIRES: the
// divisor is not 0; the float environment.
float quotient(const ScaledNumber& dividend, const ScaledNumber& divisor);

}  // namespace glove
