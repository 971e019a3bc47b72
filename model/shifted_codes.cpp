#include "model/shifted_codes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float_environment.h"
#include "base/require.h"
#include "model/quantize.h"

namespace glove {
namespace {

// Longer rows and queries could overflow float32, where squares of their lengths are compared.
constexpr double kMostLength = 1e18;
// What of the missed part may lie along h, as a share of the residual.
constexpr double kAlongShare = 0x1p-12;
constexpr double kTiny = std::numeric_limits<float>::min();
// Covers what a product of the codes loses whose factor is too small for float32, per dimension.
constexpr double kTinyProduct = 127.0 * 32767 * kTiny;
// Covers the roundings of a comparison in float32, as a share of the terms' magnitudes.
constexpr double kSlack = 0x1p-18;

// Covers the roundings of sums of `dims` products or squares in double, those of a score (D and E of
// docs/format.md) and of the sums below, as a share of the sum of their magnitudes.
double sum_slack(int64_t dims) {
  return static_cast<double>(dims + 8) * 0x1p-51;
}

double difference(const Shift& shift, std::span<const float> vector, size_t j) {
  return static_cast<double>(vector[j]) - static_cast<double>(shift.mean[j]);
}

// Returns the squared length of the direction.
double direction_squared(const Shift& shift) {
  double sum = 0;
  for (const float one : shift.direction) sum += static_cast<double>(one) * one;
  return sum;
}

// Where a row has the code of a component.
int64_t code_place(int64_t j, int64_t stride) {
  return j / kTileComponents * stride + j % kTileComponents;
}

ShiftedRow unbounded() {
  ShiftedRow row;
  row.residual = std::numeric_limits<float>::quiet_NaN();
  return row;
}

}  // namespace

Shift no_shift(int64_t dims) {
  Shift shift{std::vector<float>(static_cast<size_t>(dims)), std::vector<float>(static_cast<size_t>(dims))};
  shift.direction.front() = 1;
  return shift;
}

std::string fault_of_shift(const Shift& shift, int64_t dims) {
  if (shift.dims() != dims || std::ssize(shift.direction) != dims) return "has not the index's dimensions";
  const auto finite = [](float one) { return std::isfinite(one); };
  if (!std::ranges::all_of(shift.mean, finite) || !std::ranges::all_of(shift.direction, finite))
    return "is NaN or infinite";
  const double squared = direction_squared(shift);
  return squared > 0.9 && squared < 1.1 ? "" : "has a direction of another length than 1";
}

Shift shift_of(std::span<const float> rows, int64_t dims) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && dims >= 1 && std::ssize(rows) >= dims);
  const auto width = static_cast<size_t>(dims);
  std::vector<double> mean(width);
  for (size_t i = 0; i < rows.size(); ++i) mean[i % width] += static_cast<double>(rows[i]);
  const double count = static_cast<double>(rows.size()) / static_cast<double>(width);
  Shift shift{std::vector<float>(width), std::vector<float>(width)};
  // The differences of integers to integers are codes.
  const bool are_integers = std::ranges::all_of(rows, [](float one) { return std::nearbyint(one) == one; });
  double squares = 0;
  for (size_t j = 0; j < width; ++j) {
    shift.mean[j] = static_cast<float>(are_integers ? std::nearbyint(mean[j] / count) : mean[j] / count);
    squares += static_cast<double>(shift.mean[j]) * shift.mean[j];
  }
  const double length = std::sqrt(squares);
  for (size_t j = 0; j < width; ++j)
    shift.direction[j] = length > 0 ? static_cast<float>(shift.mean[j] / length) : static_cast<float>(j == 0);
  return shift;
}

CodingPtr coding_of(RowMetric metric, std::span<const float> rows, int64_t dims) {
  const ScopedFloatEnvironment environment;
  return metric == RowMetric::kCosine ? CodingPtr()
                                      : std::make_shared<const Coding>(Coding{metric, shift_of(rows, dims)});
}

ShiftedRow quantize_shifted_row(const Shift& shift, const float* x, int64_t dims, int8_t* codes,
                                int64_t stride) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && shift.dims() == dims);
  const std::span<const float> vector(x, static_cast<size_t>(dims));
  const auto place = [&](size_t j) -> int8_t& { return codes[code_place(static_cast<int64_t>(j), stride)]; };
  const double h_squared = direction_squared(shift);
  double along = 0, squares = 0;
  for (size_t j = 0; j < vector.size(); ++j) {
    const double rest = difference(shift, vector, j);
    along += rest * static_cast<double>(shift.direction[j]);
    squares += rest * rest;
    place(j) = 0;
  }
  const double length = std::sqrt(squares);
  if (!(length <= kMostLength)) return unbounded();
  along /= h_squared;
  const auto without_h = [&](size_t j) {
    return difference(shift, vector, j) - along * static_cast<double>(shift.direction[j]);
  };
  double largest = 0;
  bool are_codes = true;  // the differences themselves
  for (size_t j = 0; j < vector.size(); ++j) {
    largest = std::max(largest, std::fabs(without_h(j)));
    const double rest = difference(shift, vector, j);
    are_codes = are_codes && std::fabs(rest) <= 127 && std::nearbyint(rest) == rest;
  }
  if (are_codes) along = 0;
  ShiftedRow row;
  row.scale = are_codes ? 1 : static_cast<float>(largest / 127);
  const auto scale = static_cast<double>(row.scale);
  double left = 0;  // of what the codes miss, along h
  double coded_squares = 0;
  for (size_t j = 0; j < vector.size(); ++j) {
    const double code = scale > 0 ? std::clamp(std::nearbyint(without_h(j) / scale), -127.0, 127.0) : 0;
    place(j) = static_cast<int8_t>(code);
    left += (difference(shift, vector, j) - scale * code) * static_cast<double>(shift.direction[j]);
    coded_squares += scale * code * (scale * code);
  }
  row.along = static_cast<float>(left / h_squared);
  double missed = 0, missed_along = 0;
  for (size_t j = 0; j < vector.size(); ++j) {
    const auto h = static_cast<double>(shift.direction[j]);
    const double miss = difference(shift, vector, j) - scale * place(j) - static_cast<double>(row.along) * h;
    missed += miss * miss;
    missed_along += miss * h;
  }
  row.length = round_up_to_float(length * (1 + 0x1p-36) + kTiny);
  const double longest = static_cast<double>(row.length);
  const double residual =
      std::max({std::sqrt(missed) * (1 + 0x1p-36), std::fabs(missed_along) / kAlongShare,
                std::sqrt(coded_squares) - longest, std::fabs(static_cast<double>(row.along)) - longest});
  row.residual = round_up_to_float(std::max(residual, 0.0) + length * 0x1p-40 + kTiny);
  return row;
}

ShiftedRow quantize_row_by(const CodingPtr& coding, const float* x, double norm_squared, int64_t dims,
                           int8_t* codes, int64_t stride) {
  if (metric_of(coding) == RowMetric::kHamming) {
    for (int64_t j = 0; j < dims; ++j)
      codes[code_place(j, stride)] = static_cast<int8_t>(static_cast<int32_t>(x[j]));
    return {};
  }
  if (coding != nullptr) return quantize_shifted_row(coding->shift, x, dims, codes, stride);
  ShiftedRow row;
  quantize_row(x, norm_squared, dims, codes, stride, row.scale, row.residual);
  return row;
}

bool bounds_hold(const Shift& shift, const float* x, int64_t dims, const int8_t* codes, int64_t stride,
                 const ShiftedRow& row) {
  if (std::isnan(row.residual)) return true;
  const std::span<const float> vector(x, static_cast<size_t>(dims));
  double squares = 0, coded_squares = 0, missed = 0, missed_along = 0;
  for (size_t j = 0; j < vector.size(); ++j) {
    const auto at = static_cast<int64_t>(j);
    const double rest = difference(shift, vector, j), h = static_cast<double>(shift.direction[j]);
    const int8_t code = codes[code_place(at, stride)];
    if (code == -128) return false;
    const double coded = static_cast<double>(row.scale) * code;
    const double miss = rest - coded - static_cast<double>(row.along) * h;
    squares += rest * rest;
    coded_squares += coded * coded;
    missed += miss * miss;
    missed_along += miss * h;
  }
  const auto length = static_cast<double>(row.length), residual = static_cast<double>(row.residual);
  return std::sqrt(squares) <= length && std::isfinite(length) && std::sqrt(missed) <= residual &&
         std::fabs(missed_along) <= kAlongShare * residual && std::sqrt(coded_squares) <= length + residual &&
         std::fabs(static_cast<double>(row.along)) <= length + residual;
}

QuantizedQuery quantize_shifted_query(RowMetric metric, const Shift& shift, std::span<const float> query,
                                      int32_t max_code) {
  GLOVE_REQUIRE((metric == RowMetric::kDot || metric == RowMetric::kL2) && shift.mean.size() == query.size());
  const bool is_l2 = metric == RowMetric::kL2;
  std::vector<float> vector(query.begin(), query.end());
  double squares = 0, along_h = 0, base = 0, mean_squares = 0;
  for (size_t j = 0; j < vector.size(); ++j) {
    base += static_cast<double>(query[j]) * shift.mean[j];
    if (is_l2) vector[j] = static_cast<float>(difference(shift, query, j));
    squares += static_cast<double>(vector[j]) * vector[j];
    mean_squares += static_cast<double>(shift.mean[j]) * shift.mean[j];
    along_h += static_cast<double>(vector[j]) * shift.direction[j];
  }
  const double length = std::sqrt(squares);
  QuantizedQuery result;
  result.codes.resize(static_cast<size_t>(component_groups(shift.dims()) * kTileComponents));
  result.scale = 1;
  ShiftBound& bound = result.shift;
  const double factor = (is_l2 ? 2 : 1) * length;
  const double longest = length * std::sqrt(mean_squares);  // |base| at most
  const auto rules_out_none = [&] {
    result.bound = {1, static_cast<float>(kTiny), 0};
    bound.base = std::numeric_limits<float>::quiet_NaN();
    return result;
  };
  if (!(length <= kMostLength) || !(longest <= kMostLength * kMostLength)) return rules_out_none();
  double missed = 0, across = 0;
  const double h_squared = direction_squared(shift);
  if (length > 0) {
    result = quantize_query(vector, squares, max_code);
    missed = static_cast<double>(result.bound.error_offset);
    across = std::sqrt(std::max(0.0, 1 - along_h * along_h / squares / h_squared));
    if (factor / result.scale < kTiny) return rules_out_none();
  }
  bound.along = static_cast<float>((is_l2 ? 2 : 1) * along_h);
  bound.square = is_l2 ? 1 : 0;
  bound.base = is_l2 ? 0 : static_cast<float>(base);
  bound.length_slope = round_up_to_float(factor * (missed + kSlack) + kTiny);
  bound.square_slope = is_l2 ? static_cast<float>(kSlack) : 0;
  result.bound.inverse_scale = static_cast<float>(std::max(factor / result.scale, kTiny));
  result.bound.error_slope =
      round_up_to_float(factor * (std::min(1.0, across + 2 * kAlongShare) + 2 * missed + kSlack) + kTiny);
  result.bound.error_offset =
      round_up_to_float(std::fabs(base) * kSlack + (is_l2 ? squares : longest) * sum_slack(shift.dims()) +
                        static_cast<double>(shift.dims()) * kTinyProduct);
  return result;
}

double bound_of_score(RowMetric metric, const Shift& shift, std::span<const float> query, double score) {
  if (metric == RowMetric::kHamming) return score;
  const double slack = 0x1p-40 + sum_slack(shift.dims());
  if (metric != RowMetric::kL2) return score - std::fabs(score) * slack;
  double squares = 0;
  for (size_t j = 0; j < query.size(); ++j)
    squares += difference(shift, query, j) * difference(shift, query, j);
  return squares - score * score - (squares + score * score) * slack;
}

}  // namespace glove
