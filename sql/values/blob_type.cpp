#include "sql/values/blob_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
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

// Whether the bytes of the vector are ordinary numbers of this type.
bool are_ordinary(std::span<const float> vector, ElementType type) {
  std::vector<float> numbers(vector.size_bytes() / static_cast<size_t>(element_bytes(type)));
  convert_elements(type, reinterpret_cast<const char*>(vector.data()), std::ssize(numbers), numbers.data());
  const double ratio = largest_by_median({numbers.begin(), numbers.end()});
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

bool are_rather_float32(std::span<const float> vector, ElementType type) {
  const size_t parts = sizeof(float) / static_cast<size_t>(element_bytes(type));
  if (parts == 1 || vector.size() % parts != 0 || vector.size() / parts < kFewest) return false;
  size_t strange = 0;
  for (size_t i = 0; i < vector.size(); i += parts) {
    const float high = std::fabs(vector[i + parts - 1]), low = std::fabs(vector[i]);
    if (type == ElementType::kInt8) {
      // The sign and the exponent of 2^-15 to 2^3.
      const auto bits = static_cast<uint8_t>(static_cast<int8_t>(vector[i + parts - 1]));
      strange += (bits & 0x7f) >= 0x38 && (bits & 0x7f) <= 0x41 ? 1 : 0;
    } else if (high > 0 && std::isfinite(high)) {
      const float far = type == ElementType::kFloat16 ? 64.0f : 1e6f;
      strange += !std::isfinite(low) || low / high > far || (low > 0 && high / low > far) ? 1 : 0;
    }
  }
  const size_t most = vector.size() / parts;
  return type == ElementType::kInt8 ? 10 * strange > 9 * most : 5 * strange > 2 * most;
}

void BlobTypes::add(std::span<const float> vector) {
  if (looked_at_ == kMostLookedAt || vector.size() < kFewest) return;
  ++looked_at_;
  const double ratio = largest_by_median({vector.begin(), vector.end()});
  if (ratio > kOfFloat64 && vector.size() % 2 == 0 && are_ordinary(vector, ElementType::kFloat64))
    ++likely_[0];
  else if (ratio > kOfFloat16 && use_lower_halves(vector) && are_ordinary(vector, ElementType::kFloat16))
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
