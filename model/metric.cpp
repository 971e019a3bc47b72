#include "model/metric.h"

#include <cmath>

#include "base/float_environment.h"
#include "base/require.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

constexpr std::string_view kNames[] = {"cosine", "dot", "l2", "hamming"};

double different_bits(const float* a, const float* b, int64_t dims) {
  int32_t count = 0;
  // The compiler turns this into vectors, as it would not std::popcount.
  for (int64_t j = 0; j < dims; ++j) {
    int32_t bits = static_cast<int32_t>(a[j]) ^ static_cast<int32_t>(b[j]);
    bits -= bits >> 1 & 0x55;
    bits = (bits & 0x33) + (bits >> 2 & 0x33);
    count += (bits + (bits >> 4)) & 0x0f;
  }
  return count;
}

}  // namespace

std::string_view metric_name(RowMetric metric) {
  return kNames[static_cast<size_t>(metric)];
}

std::optional<RowMetric> metric_named(std::string_view name) {
  for (const RowMetric metric : {RowMetric::kCosine, RowMetric::kDot, RowMetric::kL2})
    if (metric_name(metric) == name) return metric;
  return std::nullopt;
}

double exact_distance(const float* a, const float* b, int64_t dims) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  constexpr int kLanes = 8;
  double squares[kLanes] = {};
  int64_t j = 0;
  for (; j + kLanes <= dims; j += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) {
      const double difference = static_cast<double>(a[j + lane]) - static_cast<double>(b[j + lane]);
      const double square = difference * difference;
      squares[lane] += square;
    }
  for (; j < dims; ++j) {
    const double difference = static_cast<double>(a[j]) - static_cast<double>(b[j]);
    const double square = difference * difference;
    squares[j % kLanes] += square;
  }
  return std::sqrt(sum_of_lanes(squares));
}

double exact_score(RowMetric metric, const float* query, double query_norm_squared, const float* row,
                   double row_norm_squared, int64_t dims) {
  if (metric == RowMetric::kL2) return -exact_distance(query, row, dims);
  if (metric == RowMetric::kHamming) return -different_bits(query, row, dims);
  const double dot = exact_dot(query, row, dims);
  return metric == RowMetric::kDot ? dot : cosine_from_dots(dot, query_norm_squared, row_norm_squared);
}

}  // namespace glove
