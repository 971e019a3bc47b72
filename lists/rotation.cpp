#include "lists/rotation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/cores.h"
#include "base/random.h"
#include "base/thread_pool.h"

namespace glove {
namespace {

// A number in (-1, 1).
double uniform(SplitMix64& random) {
  return static_cast<double>(static_cast<int64_t>(random.next()) >> 11) * 0x1p-52;
}

// ln(x) for x in (0, 1], to a few units in the last place.
double logarithm(double x) {
  int exponent = 0;
  while (x < std::numbers::sqrt2 / 2) {
    x *= 2;
    --exponent;
  }
  // ln(x) = 2 artanh(t), and |t| < 0.172.
  const double t = (x - 1) / (x + 1);
  const double square = t * t;
  double sum = 0;
  for (int i = 25; i >= 1; i -= 2) sum = sum * square + 1.0 / i;
  return 2 * t * sum + exponent * std::numbers::ln2;
}

// Fills the vector with independent numbers of the standard normal distribution (Marsaglia's polar method).
void fill_normal(SplitMix64& random, std::vector<double>& numbers) {
  for (size_t i = 0; i < numbers.size();) {
    const double x = uniform(random);
    const double y = uniform(random);
    const double square = x * x + y * y;
    if (!(square > 0 && square < 1)) continue;
    const double factor = std::sqrt(-2 * logarithm(square) / square);
    numbers[i++] = x * factor;
    if (i < numbers.size()) numbers[i++] = y * factor;
  }
}

double dot(const double* a, const double* b, int64_t dims) {
  double p[8] = {};
  int64_t j = 0;
  for (; j + 8 <= dims; j += 8)
    for (int64_t l = 0; l < 8; ++l) p[l] += a[j + l] * b[j + l];
  for (int64_t l = 0; j < dims; ++j, ++l) p[l] += a[j] * b[j];
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

// The integral of (1 - x^2)^a from -1 to 1, with a = (dims - 5) / 2.
double integral(int64_t dims) {
  const bool is_odd = dims % 2 != 0;
  double whole = is_odd ? 2.0 : std::numbers::pi;  // for a = 0 and a = -1/2
  for (double a = is_odd ? 1.0 : 0.5; a <= static_cast<double>(dims - 5) / 2; a += 1)
    whole *= 2 * a / (2 * a + 1);
  return whole;
}

// An upper bound of P(Z > z), in exact arithmetic: 1 <= x / z where x >= z, and
//
//   the integral of x * (1 - x^2)^a from z to 1 is (1 - z^2)^(a + 1) / (2 (a + 1)).
//
// Z has the density (1 - x^2)^a / whole, with a = (dims - 5) / 2 and whole = integral(dims).
double tail(int64_t dims, double whole, double z) {
  double base = 1 - z * z;
  double power = dims % 2 != 0 ? 1.0 : std::sqrt(base);  // base^(a + 1) = base^((dims - 3) / 2)
  for (int64_t exponent = (dims - 3) / 2; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2 != 0) power *= base;
  return power / (z * static_cast<double>(dims - 3) * whole);
}

// An answer's evidence shows its probability in six digits, which may be this share below the one asked for.
constexpr double kEvidenceSlack = 0x1p-17;

}  // namespace

Result<std::vector<float>> random_rotation(int64_t dims, int64_t count, uint64_t seed, int threads,
                                           const InterruptCheck& interrupted) {
  constexpr int64_t kRowsPerPiece = 32;
  SplitMix64 random(seed);
  std::vector<double> rows(static_cast<size_t>(count * dims));
  fill_normal(random, rows);
  // Orthogonalises the rows in their order. Those of a matrix of independent normal numbers are then those of
  // a rotation that is distributed uniformly.
  const auto row = [&](int64_t i) { return rows.data() + i * dims; };
  for (int64_t i = 0; i < count; ++i) {
    double* const done = row(i);
    const double inverse = 1 / std::sqrt(dot(done, done, dims));
    for (int64_t j = 0; j < dims; ++j) done[j] *= inverse;
    const auto project = [&](int, int64_t first, int64_t last) {
      for (int64_t k = i + 1 + first; k < i + 1 + last; ++k) {
        double* const other = row(k);
        const double product = dot(done, other, dims);
        for (int64_t j = 0; j < dims; ++j) other[j] -= product * done[j];
      }
    };
    GLOVE_RETURN_IF_ERROR(
        ThreadPool::for_pieces(thread_count(threads), count - i - 1, kRowsPerPiece, interrupted, project));
  }
  std::vector<float> rounded(rows.size());
  std::ranges::transform(rows, rounded.begin(), [](double value) { return static_cast<float>(value); });
  return rounded;
}

float sign_factor(int64_t dims, double failure) {
  if (!(failure > 0)) return 1;
  // More than the roundings of tail().
  const double most = failure * (1 - 0x1p-20);
  const double whole = integral(dims);
  float low = static_cast<float>(kLeastSignFactor);
  float high = 1;
  if (tail(dims, whole, static_cast<double>(low)) <= most) return low;
  while (std::nextafter(low, high) < high) {
    const float middle = low + (high - low) / 2;
    (tail(dims, whole, static_cast<double>(middle)) <= most ? high : low) = middle;
  }
  return high;
}

float certain_factor(int64_t dims, double certainty, int64_t rows) {
  return sign_factor(dims, (1 - certainty) * (1 - kEvidenceSlack) / static_cast<double>(rows));
}

}  // namespace glove
