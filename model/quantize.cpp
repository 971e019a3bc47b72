#include "model/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/float_environment.h"
#include "base/x86_features.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

constexpr int kLanes = 8;

// Adding and subtracting this number rounds a double below 2^51 to an integer, ties to even, with any
// instruction set.
constexpr double kRoundingMagic = 0x1.8p52;

// The two loops over a row, compiled once per worthwhile instruction set. All return the same bits: the
// operations and their order are fixed. |u/s| exceeds 127 by no more than the rounding of s, so codes need no
// clamp.
//
// `largest` returns max |x|. `code` encodes one row whose unit vector is x * inverse_norm, and returns ||u -
// s*c||. It writes four codes per group, with groups `stride` bytes apart, and does not change the bytes of
// components past `dims`.
struct RowLoops {
  float (*largest)(const float* x, int64_t dims);
  double (*code)(const float* x, double inverse_norm, double s, int64_t dims, int8_t* codes, int64_t stride);
};

// The magnitudes of finite numbers have the same order as their bits.
float largest_plain(const float* x, int64_t dims) {
  int32_t largest = 0;
  for (int64_t j = 0; j < dims; ++j) largest = std::max(largest, std::bit_cast<int32_t>(x[j]) & 0x7FFFFFFF);
  return std::bit_cast<float>(largest);
}

double code_plain(const float* x, double inverse_norm, double s, int64_t dims, int8_t* codes,
                  int64_t stride) {
  const double inverse_scale = 1.0 / s;
  double squares[kLanes] = {};
  for (int64_t j = 0; j < dims; ++j) {
    const double u = static_cast<double>(x[j]) * inverse_norm;
    const double code = (u * inverse_scale + kRoundingMagic) - kRoundingMagic;
    const double error = u - s * code;
    squares[j % kLanes] += error * error;
    codes[j / kTileComponents * stride + j % kTileComponents] = static_cast<int8_t>(code);
  }
  return std::sqrt(sum_of_lanes(squares));
}

constexpr RowLoops kPlainLoops = {largest_plain, code_plain};

#if defined(__x86_64__)

GLOVE_AVX2 float largest_avx2(const float* x, int64_t dims) {
  const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
  __m256 largest = _mm256_setzero_ps();
  int64_t j = 0;
  for (; j + kLanes <= dims; j += kLanes)
    largest = _mm256_max_ps(largest, _mm256_and_ps(magnitude, _mm256_loadu_ps(x + j)));
  float lanes[kLanes];
  _mm256_storeu_ps(lanes, largest);
  return std::max(*std::max_element(lanes, lanes + kLanes), largest_plain(x + j, dims - j));
}

// Encodes one group of four and adds the squares of its errors to `squares`.
struct GroupCoder {
  __m256d inverse_norm, s, inverse_scale;

  GLOVE_AVX2 uint32_t code(const float* x, __m256d& squares) const {
    const __m256d magic = _mm256_set1_pd(kRoundingMagic);
    const __m256d u = _mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(x)), inverse_norm);
    const __m256d codes = _mm256_sub_pd(_mm256_add_pd(_mm256_mul_pd(u, inverse_scale), magic), magic);
    const __m256d error = _mm256_sub_pd(u, _mm256_mul_pd(s, codes));
    squares = _mm256_add_pd(squares, _mm256_mul_pd(error, error));
    const __m128i bytes = _mm_shuffle_epi8(_mm256_cvttpd_epi32(codes), _mm_set1_epi32(0x0C080400));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(bytes));
  }
};

GLOVE_AVX2 double code_avx2(const float* x, double inverse_norm, double s, int64_t dims, int8_t* codes,
                            int64_t stride) {
  const GroupCoder coder = {_mm256_set1_pd(inverse_norm), _mm256_set1_pd(s), _mm256_set1_pd(1.0 / s)};
  __m256d squares[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
  int64_t j = 0;
  for (; j + kLanes <= dims; j += kLanes, codes += 2 * stride) {
    const uint32_t groups[2] = {coder.code(x + j, squares[0]), coder.code(x + j + 4, squares[1])};
    std::memcpy(codes, &groups[0], 4);
    std::memcpy(codes + stride, &groups[1], 4);
  }
  if (j < dims) {  // components missing from a multiple of eight count as zeros, which add nothing
    float rest[kLanes] = {};
    std::copy(x + j, x + dims, rest);
    const uint32_t groups[2] = {coder.code(rest, squares[0]), coder.code(rest + 4, squares[1])};
    const auto count = static_cast<size_t>(dims - j);
    std::memcpy(codes, &groups[0], std::min<size_t>(count, 4));
    if (count > 4) std::memcpy(codes + stride, &groups[1], count - 4);
  }
  double lanes[kLanes];
  _mm256_storeu_pd(lanes, squares[0]);
  _mm256_storeu_pd(lanes + 4, squares[1]);
  return std::sqrt(sum_of_lanes(lanes));
}

constexpr RowLoops kAvx2Loops = {largest_avx2, code_avx2};
#endif

const RowLoops& fastest_loops() {
#if defined(__x86_64__)
  if (x86_features().avx2) return kAvx2Loops;
#endif
  return kPlainLoops;
}

void quantize_row_by(const RowLoops& loops, const float* x, double norm_squared, int64_t dims, int8_t* codes,
                     int64_t stride, float& scale, float& residual) {
  if (!(norm_squared > 0.0)) {
    for (int64_t j = 0; j < dims; ++j) codes[j / kTileComponents * stride + j % kTileComponents] = 0;
    scale = 0.0f;
    residual = std::numeric_limits<float>::infinity();
    return;
  }
  const double inverse_norm = 1.0 / std::sqrt(norm_squared);
  scale = static_cast<float>(static_cast<double>(loops.largest(x, dims)) * inverse_norm / 127.0);
  const double distance = loops.code(x, inverse_norm, static_cast<double>(scale), dims, codes, stride);
  residual = residual_of_distance(distance);
}

}  // namespace

void quantize_row(const float* x, double norm_squared, int64_t dims, int8_t* codes, int64_t stride,
                  float& scale, float& residual) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && !(norm_squared < 0));
  static const RowLoops& loops = fastest_loops();
  quantize_row_by(loops, x, norm_squared, dims, codes, stride, scale, residual);
}

void quantize_row_plain(const float* x, double norm_squared, int64_t dims, int8_t* codes, int64_t stride,
                        float& scale, float& residual) {
  quantize_row_by(kPlainLoops, x, norm_squared, dims, codes, stride, scale, residual);
}

}  // namespace glove
