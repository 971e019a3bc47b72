// Closed intervals of integers, wide enough for every signed and unsigned 64-bit value.
#pragma once

#include <algorithm>
#include <cstdint>

namespace glove::verify {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 WideUnsigned;
constexpr Wide kWideLimit = static_cast<Wide>(1) << 100;

// Keeps sums and products of bounds representable.
inline Wide clamp_wide(Wide value) {
  return std::clamp(value, -kWideLimit, kWideLimit);
}

// Whether a number has 64 bits, so that it takes no call to multiply or divide it.
inline bool is_narrow(Wide value) {
  return value == static_cast<int64_t>(value);
}

// lo to hi, both included; lo > hi: empty.
struct Interval {
  Wide lo = -kWideLimit;
  Wide hi = kWideLimit;

  bool empty() const { return lo > hi; }
  bool single() const { return lo == hi; }
  bool contains(const Interval& other) const { return lo <= other.lo && other.hi <= hi; }
  bool operator==(const Interval&) const = default;

  Interval meet(const Interval& other) const { return {std::max(lo, other.lo), std::min(hi, other.hi)}; }
  Interval hull(const Interval& other) const { return {std::min(lo, other.lo), std::max(hi, other.hi)}; }
  Interval plus(const Interval& other) const {
    return {clamp_wide(lo + other.lo), clamp_wide(hi + other.hi)};
  }
  Interval plus(Wide value) const { return {clamp_wide(lo + value), clamp_wide(hi + value)}; }
  Interval negated() const { return {-hi, -lo}; }
  // REQUIRES: |factor| <= 2^64
  Interval times(Wide factor) const {
    if (factor == 1) return {clamp_wide(lo), clamp_wide(hi)};
    const auto product = [&](Wide bound) {
      if (is_narrow(bound) && is_narrow(factor)) return clamp_wide(bound * factor);
      if (factor == 0 || bound == 0) return Wide{0};
      if (bound >= kWideLimit || bound <= -kWideLimit)
        return (bound < 0) == (factor < 0) ? kWideLimit : -kWideLimit;
      const Wide magnitude = bound < 0 ? -bound : bound;
      const Wide size = factor < 0 ? -factor : factor;
      if (magnitude > kWideLimit / size) return (bound < 0) == (factor < 0) ? kWideLimit : -kWideLimit;
      return bound * factor;
    };
    return factor >= 0 ? Interval{product(lo), product(hi)} : Interval{product(hi), product(lo)};
  }

  static Interval exactly(Wide value) { return {value, value}; }
  // All numbers of so many bits; of more than 64, nothing is known. REQUIRES: bits > 0
  static Interval of_signed(unsigned bits) {
    return bits > 64 ? Interval{} : Interval{-(Wide{1} << (bits - 1)), (Wide{1} << (bits - 1)) - 1};
  }
  static Interval of_unsigned(unsigned bits) {
    return bits > 64 ? Interval{} : Interval{0, (Wide{1} << bits) - 1};
  }
};

// Quotients rounded down and up. REQUIRES: b > 0
inline Wide floor_divide(Wide a, Wide b) {
  if (b == 1) return a;
  if (is_narrow(a) && is_narrow(b)) {
    const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
    return x / y - (x % y < 0 ? 1 : 0);
  }
  const Wide quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}
inline Wide ceil_divide(Wide a, Wide b) {
  return -floor_divide(-a, b);
}

// A hash of one part more.
inline uint64_t mix(uint64_t hash, uint64_t part) {
  hash = (hash ^ part) * 0xff51afd7ed558ccdu;
  return hash ^ hash >> 32;
}

// Whether a bit of a number is set, as that of a lane in a set of lanes.
inline bool has(uint64_t bits, unsigned at) {
  return (bits >> at & 1) != 0;
}

// A number's lowest bits, without and with their sign. REQUIRES: bits > 0
inline uint64_t mask_bits(uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1);
}
inline int64_t sign_extend(uint64_t value, unsigned bits) {
  if (bits >= 64) return static_cast<int64_t>(value);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  return static_cast<int64_t>((mask_bits(value, bits) ^ sign) - sign);
}

}  // namespace glove::verify
