#include "analysis/exact_sum.h"

#include <array>
#include <bit>
#include <cmath>

#include "base/float_environment.h"
#include "base/require.h"

namespace glove {
namespace {

__extension__ using Wide = unsigned __int128;

// mantissa * 2^exponent, with the sign apart.
struct Parts {
  uint64_t mantissa;
  int exponent;
  bool negative;
};

Parts parts_of(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto field = static_cast<int>(bits >> 52 & 0x7FF);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  return {field == 0 ? fraction : fraction | uint64_t{1} << 52, (field == 0 ? 1 : field) - 1075,
          bits >> 63 != 0};
}

Parts parts_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto field = static_cast<int>(bits >> 23 & 0xFF);
  const uint32_t fraction = bits & ((uint32_t{1} << 23) - 1);
  return {field == 0 ? fraction : fraction | uint32_t{1} << 23, (field == 0 ? 1 : field) - 150,
          bits >> 31 != 0};
}

// Adds the addend, shifted to its place, with the carry, or subtracts it.
template <bool kSubtracts>
void add_at(uint64_t* limbs, size_t count, const std::array<uint64_t, 3>& addend) {
  uint64_t carry = 0;
  for (size_t i = 0; i < count && (i < addend.size() || carry != 0); ++i) {
    const uint64_t term = i < addend.size() ? addend[i] : 0;
    const Wide sum = kSubtracts ? Wide{limbs[i]} - term - carry : Wide{limbs[i]} + term + carry;
    limbs[i] = static_cast<uint64_t>(sum);
    carry = sum >> 64 != 0 ? 1 : 0;
  }
}

}  // namespace

void ExactSums::accumulate(double weight, std::span<const float> vector, bool negate) {
  GLOVE_REQUIRE(vector.size() == dims() && std::isfinite(weight));
  const Parts w = parts_of(weight);
  if (w.mantissa == 0) return;
  for (size_t j = 0; j < vector.size(); ++j) {
    const Parts x = parts_of(vector[j]);
    if (x.mantissa == 0) continue;
    const auto shift = static_cast<size_t>(w.exponent + x.exponent - kLowestExponent);
    const Wide product = Wide{w.mantissa} * x.mantissa;  // below 2^77
    const size_t bits = shift % 64;
    const Wide low = product << bits;
    const uint64_t high = bits == 0 ? 0 : static_cast<uint64_t>(product >> (128 - bits));
    const std::array<uint64_t, 3> addend = {static_cast<uint64_t>(low), static_cast<uint64_t>(low >> 64),
                                            high};
    uint64_t* const limbs = limbs_.data() + j * kLimbs + shift / 64;
    if (w.negative ^ x.negative ^ negate)
      add_at<true>(limbs, kLimbs - shift / 64, addend);
    else
      add_at<false>(limbs, kLimbs - shift / 64, addend);
  }
}

ScaledNumber ExactSums::rounded(size_t component) const {
  std::array<uint64_t, kLimbs> magnitude;
  const uint64_t* const limbs = limbs_.data() + component * kLimbs;
  const bool negative = limbs[kLimbs - 1] >> 63 != 0;
  uint64_t carry = negative ? 1 : 0;
  for (size_t i = 0; i < kLimbs; ++i) {
    magnitude[i] = (negative ? ~limbs[i] : limbs[i]) + carry;
    carry = carry != 0 && magnitude[i] == 0 ? 1 : 0;
  }
  size_t top = kLimbs;
  while (top > 0 && magnitude[top - 1] == 0) --top;
  if (top == 0) return {};
  const int zeros = std::countl_zero(magnitude[top - 1]);
  // The 64 bits from the highest one on, whose lowest also stands for every bit below.
  uint64_t head = magnitude[top - 1] << zeros;
  uint64_t rest = 0;
  if (top > 1) {
    if (zeros > 0) head |= magnitude[top - 2] >> (64 - zeros);
    rest = magnitude[top - 2] << zeros;
  }
  for (size_t i = 0; i + 2 < top; ++i) rest |= magnitude[i];
  if (rest != 0) head |= 1;
  uint64_t mantissa = head >> 11;
  const uint64_t below = head & 0x7FF;
  if (below > 0x400 || (below == 0x400 && (mantissa & 1) != 0)) ++mantissa;
  int exponent = static_cast<int>(top) * 64 - zeros - 53 + kLowestExponent;
  if (mantissa >> 53 != 0) {
    mantissa >>= 1;
    ++exponent;
  }
  const auto m = static_cast<double>(mantissa);
  return {negative ? -m : m, exponent};
}

float quotient(const ScaledNumber& dividend, const ScaledNumber& divisor) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  return static_cast<float>(std::ldexp(dividend.m / divisor.m, dividend.exponent - divisor.exponent));
}

}  // namespace glove
