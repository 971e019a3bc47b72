#include "model/nibbles.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/float_environment.h"
#include "base/require.h"
#include "base/x86_features.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

constexpr int kLanes = 8;

// Adding and subtracting these numbers rounds to an integer, ties to even, with any instruction set.
constexpr float kRoundingFloat = 0x1.8p23f;
constexpr double kRounding = 0x1.8p52;

// The scales to choose from, as factors of the largest component over 15.
constexpr int kFactors = 8;
constexpr float factor(int number) {
  return 0.5f + static_cast<float>(number) * (0.5f / (kFactors - 1));
}

// The loops over a row, in the plain form and with vectors of eight components. Both return the same bits:
// the operations and their order are fixed, and component j belongs to lane j % 8 of every sum.
//
//   choose    Returns the best factor. `to_largest` * max |x| is 15.
//   code      Encodes the row whose unit vector is x * inverse_norm with the scale s, and returns the scale
//   that
//             fits the codes best, <u, c> / <c, c>.
//   distance  Returns ||u - fitted * c|| for the codes c of the scale s.
struct NibbleLoops {
  float (*choose)(const float* x, double to_largest, int64_t dims);
  double (*code)(const float* x, double inverse_norm, double s, int64_t dims, int8_t* codes, int64_t stride);
  double (*distance)(const float* x, double inverse_norm, double s, double fitted, int64_t dims);
};

// Returns the code bits v of a component.
double plain_bits(float x, double inverse_norm, double inverse_step) {
  const double v = (static_cast<double>(x) * inverse_norm) * inverse_step + 7.5;
  return (std::min(std::max(v, 0.0), 15.0) + kRounding) - kRounding;
}

// Sums of one row, [kLanes], so that a loop with vectors can leave the last components to a plain one.
struct FactorErrors {
  float squares[kFactors][kLanes] = {};

  void add(const float* x, double to_largest, int64_t first, int64_t dims) {
    for (int64_t j = first; j < dims; ++j) {
      const auto w = static_cast<float>(static_cast<double>(x[j]) * to_largest);
      for (int f = 0; f < kFactors; ++f) {
        const float v = std::min(std::max(w * (0.5f / factor(f)) + 7.5f, 0.0f), 15.0f);
        const float error =
            (w + 15.0f * factor(f)) - 2.0f * factor(f) * ((v + kRoundingFloat) - kRoundingFloat);
        squares[f][j % kLanes] += error * error;
      }
    }
  }
  float best_factor() const {
    int best = 0;
    for (int f = 1; f < kFactors; ++f)
      if (sum_of_lanes(squares[f]) < sum_of_lanes(squares[best])) best = f;
    return factor(best);
  }
};

struct Fit {
  double dots[kLanes] = {};
  double norms[kLanes] = {};

  void add(const float* x, double inverse_norm, double s, int64_t first, int64_t dims, int8_t* codes,
           int64_t stride) {
    const double inverse_step = 0.5 / s;
    for (int64_t j = first; j < dims; ++j) {
      int8_t* const word = codes + j / kNibbleGroup * stride;
      if (j % kNibbleGroup == 0) std::memset(word, 0, kNibbleWordBytes);
      const double v = plain_bits(x[j], inverse_norm, inverse_step);
      const double code = 2.0 * v - 15.0;
      dots[j % kLanes] += (static_cast<double>(x[j]) * inverse_norm) * code;
      norms[j % kLanes] += code * code;
      int8_t& byte = word[j % kNibbleWordBytes];
      byte = static_cast<int8_t>(static_cast<uint8_t>(byte) | static_cast<int>(v) << nibble_shift(j));
    }
  }
  double scale() const { return sum_of_lanes(dots) / sum_of_lanes(norms); }
};

struct Distance {
  double squares[kLanes] = {};

  void add(const float* x, double inverse_norm, double s, double fitted, int64_t first, int64_t dims) {
    const double inverse_step = 0.5 / s;
    for (int64_t j = first; j < dims; ++j) {
      const double code = 2.0 * plain_bits(x[j], inverse_norm, inverse_step) - 15.0;
      const double error = static_cast<double>(x[j]) * inverse_norm - fitted * code;
      squares[j % kLanes] += error * error;
    }
  }
  double value() const { return std::sqrt(sum_of_lanes(squares)); }
};

float choose_plain(const float* x, double to_largest, int64_t dims) {
  FactorErrors errors;
  errors.add(x, to_largest, 0, dims);
  return errors.best_factor();
}

double code_plain(const float* x, double inverse_norm, double s, int64_t dims, int8_t* codes,
                  int64_t stride) {
  Fit fit;
  fit.add(x, inverse_norm, s, 0, dims, codes, stride);
  return fit.scale();
}

double distance_plain(const float* x, double inverse_norm, double s, double fitted, int64_t dims) {
  Distance distance;
  distance.add(x, inverse_norm, s, fitted, 0, dims);
  return distance.value();
}

constexpr NibbleLoops kPlainLoops = {choose_plain, code_plain, distance_plain};

#if defined(__x86_64__)
#include "model/nibbles_avx2-inl.h"
#endif

const NibbleLoops& fastest_loops() {
#if defined(__x86_64__)
  if (x86_features().avx2) return kAvx2Loops;
#endif
  return kPlainLoops;
}

void quantize_by(const NibbleLoops& loops, const float* x, double norm_squared, int64_t dims, int8_t* codes,
                 int64_t stride, float& scale, float& residual) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && !(norm_squared < 0));
  if (!(norm_squared > 0.0)) {
    for (int64_t word = 0; word < nibble_words(dims); ++word)
      std::memset(codes + word * stride, 0, kNibbleWordBytes);
    scale = 0.0f;
    residual = std::numeric_limits<float>::infinity();
    return;
  }
  float largest = 0;
  for (int64_t j = 0; j < dims; ++j) largest = std::max(largest, std::fabs(x[j]));
  const double inverse_norm = 1.0 / std::sqrt(norm_squared);
  const auto factor = static_cast<double>(loops.choose(x, 15.0 / static_cast<double>(largest), dims));
  const double s = static_cast<double>(largest) * inverse_norm / 15.0 * factor;
  scale = static_cast<float>(loops.code(x, inverse_norm, s, dims, codes, stride));
  const double distance = loops.distance(x, inverse_norm, s, static_cast<double>(scale), dims);
  residual = residual_of_distance(distance);
}

}  // namespace

void quantize_row_nibbles(const float* x, double norm_squared, int64_t dims, int8_t* codes, int64_t stride,
                          float& scale, float& residual) {
  static const NibbleLoops& loops = fastest_loops();
  quantize_by(loops, x, norm_squared, dims, codes, stride, scale, residual);
}

void quantize_row_nibbles_plain(const float* x, double norm_squared, int64_t dims, int8_t* codes,
                                int64_t stride, float& scale, float& residual) {
  quantize_by(kPlainLoops, x, norm_squared, dims, codes, stride, scale, residual);
}

}  // namespace glove
