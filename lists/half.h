// Numbers of 16 bits (IEEE binary16) as their bits.
#pragma once

#include <bit>
#include <cstdint>

namespace glove {

constexpr uint16_t kHalfInfinity = 0x7C00;

// The value of a half. NaN becomes some NaN.
inline float half_value(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t magnitude = half & 0x7FFFu;
  if (magnitude >= kHalfInfinity)
    return std::bit_cast<float>(sign | 0x7F800000u | (magnitude & 0x3FFu) << 13);
  // The exponent is right but for its bias; a product by a power of two is exact, denormals included.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

// Returns the half of least magnitude that is at least `value` in magnitude and has its sign; infinity if
// there is none. REQUIRES: value is not NaN.
inline uint16_t half_away_from_zero(double value) {
  const uint16_t sign = std::bit_cast<uint64_t>(value) >> 63 != 0 ? 0x8000 : 0;
  const double magnitude = value < 0 ? -value : value;
  if (magnitude > 65504.0) return static_cast<uint16_t>(sign | kHalfInfinity);
  // Halves have the order of their bits.
  uint16_t low = 0, high = 0x7BFF;
  while (low < high) {
    const auto middle = static_cast<uint16_t>((low + high) / 2);
    if (static_cast<double>(half_value(middle)) >= magnitude)
      high = middle;
    else
      low = static_cast<uint16_t>(middle + 1);
  }
  return static_cast<uint16_t>(sign | low);
}

}  // namespace glove
