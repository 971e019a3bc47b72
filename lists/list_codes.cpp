#include "lists/list_codes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/float_environment.h"
#include "base/require.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

constexpr double kLargestCode = 127;
constexpr double kLargestQueryCode = 32767;
// Sums of products are below twice this: those of unit vectors are at most 1, and codes are off by a half.
constexpr double kLargestScale = 0x1p29;

// Returns 1 / |x|, or 0 for a zero vector.
double inverse_norm(const float* x, int64_t dims) {
  const double norm_squared = exact_dot(x, x, dims);
  return norm_squared > 0 ? 1 / std::sqrt(norm_squared) : 0;
}

double nearest_whole(double value) {
  return std::floor(value + 0.5);
}

}  // namespace

ListCodes encode_centroids(std::span<const float> centroids, int64_t dims) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  ListCodes lists;
  lists.dims = dims;
  lists.steps.assign(static_cast<size_t>(dims), 0);
  const int64_t count = std::ssize(centroids) / dims;
  for (int64_t i = 0; i < count; ++i) {
    const float* const m = centroids.data() + i * dims;
    const double inverse = inverse_norm(m, dims);
    for (int64_t j = 0; j < dims; ++j) {
      double& step = lists.steps[static_cast<size_t>(j)];
      step = std::max(step, std::abs(m[j] * inverse) / kLargestCode);
    }
  }
  double largest_step = 0;
  for (const double step : lists.steps) largest_step = std::max(largest_step, step);
  lists.scale = largest_step > 0 ? std::min(kLargestQueryCode / largest_step, kLargestScale) : 0;
  lists.codes.assign(static_cast<size_t>(count * list_code_stride(dims)), 0);
  lists.factors.assign(static_cast<size_t>(count), 0);
  for (int64_t i = 0; i < count; ++i) {
    const float* const m = centroids.data() + i * dims;
    int8_t* const codes = lists.codes.data() + i * list_code_stride(dims);
    const double inverse = inverse_norm(m, dims);
    if (inverse > 0 && lists.scale > 0)
      lists.factors[static_cast<size_t>(i)] = static_cast<float>(1 / (inverse * lists.scale));
    for (int64_t j = 0; j < dims; ++j) {
      const double step = lists.steps[static_cast<size_t>(j)];
      if (step > 0) codes[j] = static_cast<int8_t>(nearest_whole(m[j] * inverse / step));
    }
  }
  return lists;
}

int32_t product_of_codes(const int8_t* codes, const int16_t* query, int64_t lanes) {
  GLOVE_REQUIRE(lanes % kListCodeLanes == 0);
  int32_t sum = 0;
  for (int64_t first = 0; first < lanes; first += kListCodeLanes) {
    std::array<int16_t, kListCodeLanes> wide;  // a compiler multiplies numbers of one type faster
    for (size_t i = 0; i < wide.size(); ++i) wide[i] = int16_t{codes[first + static_cast<int64_t>(i)]};
    for (size_t i = 0; i < wide.size(); ++i) sum += int32_t{wide[i]} * query[first + static_cast<int64_t>(i)];
  }
  return sum;
}

std::vector<int16_t> encode_query(const ListCodes& lists, std::span<const float> query, double norm_squared) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && norm_squared > 0);
  std::vector<int16_t> codes(static_cast<size_t>(list_code_stride(lists.dims)));
  const double factor = lists.scale / std::sqrt(norm_squared);
  for (size_t j = 0; j < query.size(); ++j)
    codes[j] = static_cast<int16_t>(
        std::clamp(nearest_whole(query[j] * factor * lists.steps[j]), -kLargestQueryCode, kLargestQueryCode));
  return codes;
}

}  // namespace glove
