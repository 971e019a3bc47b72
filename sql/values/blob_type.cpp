#include "sql/values/blob_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/concat.h"

namespace glove::sql {
namespace {

constexpr int kMostLookedAt = 100;
constexpr size_t kFewest = 8;  // components in which signs are no accident
// How far the largest magnitude may be beyond the median: of float32 that are other types, which have random
// exponents, and of numbers as they are.
constexpr double kOfFloat64 = 1e12;
constexpr double kOfFloat16 = 1e4;
constexpr double kOrdinary = 1e4;

// Infinite if a number is not finite; 0 if the median is.
double largest_by_median(std::vector<double> magnitudes) {
  for (double& magnitude : magnitudes) {
    magnitude = std::fabs(magnitude);
    if (!std::isfinite(magnitude)) return std::numeric_limits<double>::infinity();
  }
  const auto middle = magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() / 2);
  std::nth_element(magnitudes.begin(), middle, magnitudes.end());
  const double median = *middle;
  return median > 0 ? *std::max_element(magnitudes.begin(), magnitudes.end()) / median : 0;
}

double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  if (exponent == 31) return std::numeric_limits<double>::infinity();
  return exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
}

// Whether the bytes are ordinary numbers of this type.
template <class Bits, class Value>
bool are_ordinary(std::span<const float> vector, const Value& value) {
  std::vector<double> numbers(vector.size_bytes() / sizeof(Bits));
  for (size_t i = 0; i < numbers.size(); ++i) {
    Bits bits;
    std::memcpy(&bits, reinterpret_cast<const char*>(vector.data()) + i * sizeof(Bits), sizeof(Bits));
    numbers[i] = value(bits);
  }
  const double ratio = largest_by_median(std::move(numbers));
  return ratio > 0 && ratio < kOrdinary;
}

// Whether most components have more bits than the upper half: integers and rounded numbers do not, and their
// upper halves look like float16.
bool use_lower_halves(std::span<const float> vector) {
  const auto used = std::count_if(vector.begin(), vector.end(),
                                  [](float x) { return (std::bit_cast<uint32_t>(x) & 0xffffU) != 0; });
  return 2 * static_cast<size_t>(used) > vector.size();
}

}  // namespace

bool has_widened_floats(std::span<const float> vector) {
  constexpr uint32_t kZeros = (1U << 29) - 1;
  if (vector.size() < kFewest || vector.size() % 2 != 0) return false;
  double low = 0, high = 0;
  for (size_t i = 0; i < vector.size(); i += 2) {
    if ((std::bit_cast<uint32_t>(vector[i]) & kZeros) != 0) return false;
    low = std::max<double>(low, std::fabs(vector[i]));
    high = std::max<double>(high, std::fabs(vector[i + 1]));
  }
  return high > 0 && low > kOfFloat64 * high;
}

void BlobTypes::add(std::span<const float> vector) {
  if (looked_at_ == kMostLookedAt || vector.size() < kFewest) return;
  ++looked_at_;
  const double ratio = largest_by_median({vector.begin(), vector.end()});
  if (ratio > kOfFloat64 && vector.size() % 2 == 0 &&
      are_ordinary<uint64_t>(vector, [](uint64_t bits) { return std::bit_cast<double>(bits); }))
    ++likely_[0];
  else if (ratio > kOfFloat16 && use_lower_halves(vector) && are_ordinary<uint16_t>(vector, half_value))
    ++likely_[1];
}

Status BlobTypes::check(const std::string& subject, const std::string& remedy) const {
  for (size_t i = 0; i < likely_.size(); ++i)
    if (2 * likely_[i] > looked_at_)
      return invalid_argument(subject, ": most BLOBs look like ", i == 0 ? "float64" : "float16", ", of ",
                              i == 0 ? 8 : 2, " bytes per component; convert them to float32", remedy);
  return {};
}

}  // namespace glove::sql
