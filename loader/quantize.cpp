#include "loader/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace glove {
namespace {

constexpr int kLanes = 8;
constexpr double kRelativeSlack = 0x1p-40;
constexpr double kAbsoluteSlack = 0x1p-40;

// Adding and subtracting it rounds a double below 2^51 to an integer, ties to even, in any
// instruction set.
constexpr double kRoundingMagic = 0x1.8p52;

float round_up_to_float(double value) {
  const float rounded = static_cast<float>(value);
  return static_cast<double>(rounded) < value
             ? std::nextafter(rounded, std::numeric_limits<float>::infinity())
             : rounded;
}

double lanes_sum(const double* p) {
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

// Codes one row whose unit vector is x * inverse_norm, and returns ||u - s*c||. Four codes a
// group, groups `stride` bytes apart; the bytes of components past `dims` are left alone.
double code_row(const float* x, double inverse_norm, float scale, int64_t dims, int8_t* codes,
                int64_t stride) {
  const double s = static_cast<double>(scale);
  const double inverse_scale = 1.0 / s;
  double squares[kLanes] = {};
  int64_t j = 0;
  for (; j < dims; j += kLanes) {
    const int lanes = static_cast<int>(std::min<int64_t>(kLanes, dims - j));
    double u[kLanes] = {};
    int8_t c[kLanes];
    for (int l = 0; l < lanes; ++l) u[l] = static_cast<double>(x[j + l]) * inverse_norm;
    for (int l = 0; l < kLanes; ++l) {
      const double scaled = std::clamp(u[l] * inverse_scale, -127.0, 127.0);
      const double code = (scaled + kRoundingMagic) - kRoundingMagic;
      const double error = u[l] - s * code;
      squares[l] += error * error;
      c[l] = static_cast<int8_t>(static_cast<int>(code));
    }
    int8_t* group = codes + j / kTileComponents * stride;
    std::memcpy(group, c, static_cast<size_t>(std::min(lanes, 4)));
    if (lanes > 4) std::memcpy(group + stride, c + 4, static_cast<size_t>(lanes - 4));
  }
  return std::sqrt(lanes_sum(squares));
}

}  // namespace

void quantize_row(const float* x, double norm_squared, int64_t dims, int8_t* codes, int64_t stride,
                  float& scale, float& residual) {
  if (!(norm_squared > 0.0)) {
    for (int64_t j = 0; j < dims; ++j) codes[j / kTileComponents * stride + j % kTileComponents] = 0;
    scale = 0.0f;
    residual = std::numeric_limits<float>::infinity();
    return;
  }
  float largest = 0.0f;
  for (int64_t j = 0; j < dims; ++j) largest = std::max(largest, std::fabs(x[j]));
  const double inverse_norm = 1.0 / std::sqrt(norm_squared);
  scale = static_cast<float>(static_cast<double>(largest) * inverse_norm / 127.0);
  const double distance = code_row(x, inverse_norm, scale, dims, codes, stride);
  residual = round_up_to_float(distance * (1.0 + kRelativeSlack) + kAbsoluteSlack);
}

void quantize_rows(std::span<const float> vectors, std::span<const double> norms_squared, int64_t first_row,
                   int64_t dims, int8_t* codes, std::span<float> scales, std::span<float> residuals) {
  for (size_t i = 0; i < norms_squared.size(); ++i)
    quantize_row(vectors.data() + i * static_cast<size_t>(dims), norms_squared[i], dims,
                 codes + code_index(first_row + static_cast<int64_t>(i), 0, dims),
                 kTileRows * kTileComponents, scales[i], residuals[i]);
}

}  // namespace glove
