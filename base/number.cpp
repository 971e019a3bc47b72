#include "base/number.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <system_error>

#include "base/float_environment.h"
#include "base/float_from_chars.h"
#include "base/require.h"

namespace glove {
namespace {

constexpr int kMaxFastFraction = 22;  // 10^22 is the largest power of ten that a double holds exactly
constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// The general case.
const char* parse_any(const char* begin, const char* end, float& value) {
  if (begin < end && *begin == '+') {
    ++begin;
    if (begin < end && *begin == '-') return nullptr;
  }
  const auto [rest, error] = from_chars(begin, end, value);
  if (error == std::errc()) return rest;
  if (error != std::errc::result_out_of_range) return nullptr;
  double wide = 0;
  const auto [wide_rest, wide_error] = from_chars(begin, end, wide);
  if (wide_error == std::errc()) {
    value = static_cast<float>(wide);  // a zero or an infinity, because it is outside float32's range
  } else {
    // The number is also outside double's range: the sign of the exponent distinguishes the two cases.
    bool tiny = false;
    for (const char* at = begin; at + 1 < rest; ++at)
      tiny = tiny || ((*at == 'e' || *at == 'E') && at[1] == '-');
    value = tiny ? 0.0f : std::numeric_limits<float>::infinity();
    if (*begin == '-') value = -value;
  }
  return rest;
}

}  // namespace

const char* parse_float(const char* begin, const char* end, float& value) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  // Nearly every number of a text model is [-]digits.digits with at most 15 digits or so. Mantissa and power
  // of ten are then exact doubles, and their quotient is a correctly rounded double. Rounding it to float
  // returns the nearest float unless the double is within one ulp of the midpoint of two floats, where the
  // first rounding may have crossed the midpoint.
  const char* at = begin;
  const bool negative = at < end && *at == '-';
  if (negative) ++at;
  uint64_t mantissa = 0;
  const char* const digits = at;
  for (; at < end && static_cast<unsigned char>(*at - '0') <= 9; ++at)
    mantissa = mantissa * 10 + static_cast<unsigned char>(*at - '0');
  int64_t digit_count = at - digits;
  int64_t fraction = 0;
  if (at < end && *at == '.') {
    const char* const point = at++;
    for (; at < end && static_cast<unsigned char>(*at - '0') <= 9; ++at)
      mantissa = mantissa * 10 + static_cast<unsigned char>(*at - '0');
    fraction = at - point - 1;
    digit_count += fraction;
  }
  const bool exponent_follows = at < end && (*at == 'e' || *at == 'E');
  if (digit_count == 0 || digit_count > 19 || fraction > kMaxFastFraction || exponent_follows ||
      mantissa > (uint64_t{1} << 53))
    return parse_any(begin, end, value);
  const double quotient = static_cast<double>(mantissa) / kPowersOfTen[fraction];
  // Double's mantissa bits that float does not have.
  constexpr uint64_t kBelowFloat = (uint64_t{1} << 29) - 1;
  constexpr uint64_t kMiddle = uint64_t{1} << 28;
  const uint64_t low_bits = std::bit_cast<uint64_t>(quotient) & kBelowFloat;
  if (low_bits - (kMiddle - 1) <= 2) return parse_any(begin, end, value);
  value = static_cast<float>(negative ? -quotient : quotient);
  return at;
}

}  // namespace glove
