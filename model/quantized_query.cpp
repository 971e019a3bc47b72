#include "model/quantized_query.h"

#include <algorithm>
#include <cmath>

#include "model/round_up.h"

namespace glove {
namespace {

// Returns S, as fine as the code range and an int32 sum allow: |codes[j]| <= S*|v_j| + 1/2, and the sum of
// the |v_j| is at most sqrt(d).
double choose_scale(double largest, int64_t dims, int32_t max_code) {
  const double root = std::sqrt(static_cast<double>(dims));
  const double no_overflow = (std::ldexp(1.0, 31) - 1) / (128 * root) - root / 2;
  return std::max(1.0, std::min(max_code / largest, no_overflow));
}

}  // namespace

QuantizedQuery quantize_query(std::span<const float> vector, double norm_squared, int32_t max_code) {
  // Uses reciprocals and rounding by a constant, because a batch quantises a thousand queries on one thread.
  // The error of both is far below the margin in the residual.
  constexpr double kRoundingMagic = 0x1.8p52;
  const auto dims = static_cast<int64_t>(vector.size());
  const double inverse_norm = 1 / std::sqrt(norm_squared);
  float largest = 0;
  for (const float x : vector) largest = std::max(largest, std::fabs(x));

  QuantizedQuery result;
  result.scale = choose_scale(largest * inverse_norm, dims, max_code);
  result.codes.resize(static_cast<size_t>(component_groups(dims) * kTileComponents));
  const double inverse_scale = 1 / result.scale;
  const double limit = max_code;
  const double scale = result.scale;
  const float* x = vector.data();
  int16_t* codes = result.codes.data();
  double squares[4] = {};
  const auto quantize = [=](int64_t j) {
    const double rounded = (scale * (x[j] * inverse_norm) + kRoundingMagic) - kRoundingMagic;
    return std::max(-limit, std::min(limit, rounded));
  };
  const auto square = [=](int64_t j, double code) {
    const double rest = x[j] * inverse_norm - code * inverse_scale;
    return rest * rest;
  };
  int64_t j = 0;
  for (; j + 4 <= dims; j += 4) {
    double code[4];
    for (int lane = 0; lane < 4; ++lane) code[lane] = quantize(j + lane);
    for (int lane = 0; lane < 4; ++lane) squares[lane] += square(j + lane, code[lane]);
    for (int lane = 0; lane < 4; ++lane)
      codes[j + lane] = static_cast<int16_t>(static_cast<int32_t>(code[lane]));
  }
  for (; j < dims; ++j) {
    const double code = quantize(j);
    squares[0] += square(j, code);
    codes[j] = static_cast<int16_t>(static_cast<int32_t>(code));
  }
  for (const int16_t code : result.codes) result.code_sum += code;
  const double residual_squared = (squares[0] + squares[1]) + (squares[2] + squares[3]);
  const double tiny = std::ldexp(1.0, -40);
  const double slack = std::ldexp(1.0, -20);
  const double residual = std::sqrt(residual_squared) * (1 + tiny) + tiny;
  result.bound.inverse_scale = static_cast<float>(inverse_scale);
  result.bound.error_slope = round_up_to_float((1 + residual) * (1 + slack));
  result.bound.error_offset = round_up_to_float(residual + slack);
  return result;
}

}  // namespace glove
