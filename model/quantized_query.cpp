#include "model/quantized_query.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/float_environment.h"
#include "base/require.h"
#include "base/x86_features.h"

namespace glove {
namespace {

// Returns the finest scale that an int32 sum allows: |codes[j]| <= S*|v_j| + 1/2, and the sum of the |v_j| is
// at most sqrt(d).
double no_overflow(int64_t dims) {
  const double root = std::sqrt(static_cast<double>(dims));
  return (std::ldexp(1.0, 31) - 1) / (128 * root) - root / 2;
}

// Adding and subtracting this number rounds a double below 2^51 to an integer, ties to even, with any
// instruction set.
constexpr double kRoundingMagic = 0x1.8p52;

// A vector and the factors for its codes. They are reciprocals, because a batch quantises a thousand queries,
// and a division per component would be slow. Their error is far below the margin in the residual.
struct Quantizer {
  const float* x;
  int64_t dims;
  double inverse_norm;
  double scale;
  double inverse_scale;
  double limit;

  // Returns the code of component j, and adds the square of what it leaves of the component.
  int16_t code(int64_t j, double& squares) const {
    const double unit = x[j] * inverse_norm;
    const double rounded = (scale * unit + kRoundingMagic) - kRoundingMagic;
    const double code = std::max(-limit, std::min(limit, rounded));
    const double rest = unit - code * inverse_scale;
    squares += rest * rest;
    return static_cast<int16_t>(static_cast<int32_t>(code));
  }
};

// Of a SplitQuery: the high half of the largest code is 127, and its low half 0. An int32 sum of either half
// with row codes of 4 bits fits, whatever the scale.
constexpr int32_t kMaxSplitCode = 256 * 127;

constexpr int kLanes = 4;

// Writes the codes, and returns the square of the distance between the unit vector and what they stand for.
// The operations and their order are fixed, so all instruction sets return the same bits.
using Encode = double(const Quantizer& quantizer, int16_t* codes);

// Encodes the components from j on.
double encode_rest(const Quantizer& quantizer, int64_t j, double (&squares)[kLanes], int16_t* codes) {
  for (; j < quantizer.dims; ++j) codes[j] = quantizer.code(j, squares[0]);
  return (squares[0] + squares[1]) + (squares[2] + squares[3]);
}

double encode_plain(const Quantizer& quantizer, int16_t* codes) {
  double squares[kLanes] = {};
  int64_t j = 0;
  for (; j + kLanes <= quantizer.dims; j += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) codes[j + lane] = quantizer.code(j + lane, squares[lane]);
  return encode_rest(quantizer, j, squares, codes);
}

#if defined(__x86_64__)
GLOVE_AVX2 double encode_avx2(const Quantizer& quantizer, int16_t* codes) {
  const __m256d inverse_norm = _mm256_set1_pd(quantizer.inverse_norm);
  const __m256d scale = _mm256_set1_pd(quantizer.scale);
  const __m256d inverse_scale = _mm256_set1_pd(quantizer.inverse_scale);
  const __m256d limit = _mm256_set1_pd(quantizer.limit);
  const __m256d least = _mm256_set1_pd(-quantizer.limit);
  const __m256d magic = _mm256_set1_pd(kRoundingMagic);
  __m256d sums = _mm256_setzero_pd();
  int64_t j = 0;
  for (; j + kLanes <= quantizer.dims; j += kLanes) {
    const __m256d unit = _mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(quantizer.x + j)), inverse_norm);
    const __m256d rounded = _mm256_sub_pd(_mm256_add_pd(_mm256_mul_pd(scale, unit), magic), magic);
    const __m256d code = _mm256_max_pd(least, _mm256_min_pd(limit, rounded));
    const __m256d rest = _mm256_sub_pd(unit, _mm256_mul_pd(code, inverse_scale));
    sums = _mm256_add_pd(sums, _mm256_mul_pd(rest, rest));
    const __m128i whole = _mm256_cvttpd_epi32(code);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(codes + j), _mm_packs_epi32(whole, whole));
  }
  double squares[kLanes];
  _mm256_storeu_pd(squares, sums);
  return encode_rest(quantizer, j, squares, codes);
}
#endif

Encode* fastest_encode() {
#if defined(__x86_64__)
  static const bool has_avx2 = x86_features().avx2;
  if (has_avx2) return encode_avx2;
#endif
  return encode_plain;
}

// The magnitudes of finite numbers have the same order as their bits.
float largest_magnitude(std::span<const float> vector) {
  int32_t largest = 0;
  for (const float x : vector) largest = std::max(largest, std::bit_cast<int32_t>(x) & 0x7FFFFFFF);
  return std::bit_cast<float>(largest);
}

// S is as fine as the code range and `finest` allow.
QuantizedQuery quantize_by(Encode* encode, std::span<const float> vector, double norm_squared,
                           int32_t max_code, double finest) {
  GLOVE_REQUIRE(norm_squared > 0 && max_code >= 1 && max_code <= 32767);
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  const auto dims = static_cast<int64_t>(vector.size());
  const double inverse_norm = 1 / std::sqrt(norm_squared);
  QuantizedQuery result;
  result.scale = std::max(1.0, std::min(max_code / (largest_magnitude(vector) * inverse_norm), finest));
  result.codes.resize(static_cast<size_t>(component_groups(dims) * kTileComponents));
  const double inverse_scale = 1 / result.scale;
  const double residual_squared =
      encode({vector.data(), dims, inverse_norm, result.scale, inverse_scale, static_cast<double>(max_code)},
             result.codes.data());
  for (const int16_t one : result.codes) result.code_sum += one;
  const double tiny = std::ldexp(1.0, -40);
  const double slack = std::ldexp(1.0, -20);
  const double residual = std::sqrt(residual_squared) * (1 + tiny) + tiny;
  result.bound.inverse_scale = static_cast<float>(inverse_scale);
  result.bound.error_slope = round_up_to_float((1 + residual) * (1 + slack));
  result.bound.error_offset = round_up_to_float(residual + slack);
  return result;
}

}  // namespace

QuantizedQuery quantize_query(std::span<const float> vector, double norm_squared, int32_t max_code) {
  return quantize_by(fastest_encode(), vector, norm_squared, max_code,
                     no_overflow(static_cast<int64_t>(vector.size())));
}

QuantizedQuery quantize_query_plain(std::span<const float> vector, double norm_squared, int32_t max_code) {
  return quantize_by(encode_plain, vector, norm_squared, max_code,
                     no_overflow(static_cast<int64_t>(vector.size())));
}

SplitQuery split_query(std::span<const float> vector, double norm_squared) {
  GLOVE_REQUIRE(norm_squared > 0 && ScopedFloatEnvironment::is_set());
  SplitQuery split;
  split.high = quantize_by(fastest_encode(), vector, norm_squared, kMaxSplitCode,
                           std::numeric_limits<double>::infinity());
  split.whole = split.high.bound;
  split.low.resize(split.high.codes.size());
  split.high.code_sum = 0;
  double low_squared = 0;
  for (size_t j = 0; j < split.low.size(); ++j) {
    int16_t& code = split.high.codes[j];
    const int high = (code + 128) >> 8;
    const int low = code - 256 * high;
    split.low[j] = static_cast<int8_t>(low);
    split.low_sum += low;
    low_squared += low * low;
    code = static_cast<int16_t>(high);
    split.high.code_sum += high;
  }
  // What the high halves represent differs from the query by what both do, and by the low ones.
  const double slack = std::ldexp(1.0, -20);
  const double residual =
      static_cast<double>(split.whole.error_offset) + std::sqrt(low_squared) / split.high.scale * (1 + slack);
  split.high.scale /= 256;
  split.high.bound.inverse_scale = static_cast<float>(1 / split.high.scale);
  split.high.bound.error_slope = round_up_to_float((1 + residual) * (1 + slack));
  split.high.bound.error_offset = round_up_to_float(residual + slack);
  return split;
}

}  // namespace glove
