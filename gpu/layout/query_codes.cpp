#include "gpu/layout/query_codes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "base/float_environment.h"
#include "base/require.h"
#include "model/quantize.h"
#include "search/query.h"

namespace glove::gpu {

namespace {

// What rounding may add to bounds in -1 .. 1, where the terms that are larger have their own slack.
constexpr double kSlack = 0x1p-18;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

float round_down(double value) {
  return std::nextafter(static_cast<float>(value), -kInfinity);
}

// Returns a power of two by which bounds are in -1 .. 1 where they decide which rows are the best. Rows with
// lower bounds than -1 are not among those; if the best ones are above 1, too many are found.
double unit_of(const DeviceCoding& rows, const QuantizedQuery& codes) {
  const double factor = static_cast<double>(codes.bound.inverse_scale) * codes.scale;
  double reach = factor * static_cast<double>(rows.longest);
  if (rows.coding->metric == RowMetric::kL2) {
    // A row of the mean length has no bound much below -mean * (mean + factor).
    const auto mean = static_cast<double>(rows.mean);
    reach = std::max(std::min(reach, factor * factor / 4), mean * (mean + factor));
  }
  return std::ldexp(1.0, -std::clamp(reach > 0 ? std::ilogb(reach) + 1 : 0, -100, 120));
}

}  // namespace

DeviceQuery quantize_for_device(const DevicePart& part, const Query& query, int32_t max_code) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  if (part.coding == nullptr)
    return {quantize_query(query.vector, query.norm_squared, max_code), round_down(query.least)};
  const Coding& coding = *part.coding->coding;
  DeviceQuery result{quantize_shifted_query(coding.metric, coding.shift, query.vector, max_code), -kInfinity};
  QueryBound& bound = result.codes.bound;
  ShiftBound& shift = result.codes.shift;
  const auto base = static_cast<double>(std::exchange(shift.base, 0.0f));
  if (std::isnan(base)) {  // the codes rule out nothing
    bound = {0, 0, kInfinity};
    shift = {};
    return result;
  }
  const double unit = unit_of(*part.coding, result.codes);
  for (float* const term : {&bound.inverse_scale, &shift.along, &shift.square})
    *term = static_cast<float>(*term * unit);
  for (float* const term : {&bound.error_slope, &shift.length_slope, &shift.square_slope})
    if (*term > 0) *term = round_up_to_float(*term * unit);
  bound.error_offset = round_up_to_float(bound.error_offset * unit + kSlack);
  const double least = query.least == kNoScore
                           ? kNoScore
                           : bound_of_score(coding.metric, coding.shift, query.vector, query.least);
  result.least = round_down((least - base - std::fabs(base) * kSlack) * unit - kSlack);
  return result;
}

DeviceQuery quantize_for_batch(const DevicePart& part, const Query& query) {
  int32_t max_code = kOnePlaneCode;
  while (true) {
    DeviceQuery quantized = quantize_for_device(part, query, max_code);
    int32_t magnitude = 0;  // of codes of at most 127: enough for 2^24 dimensions
    for (const int16_t code : quantized.codes.codes) magnitude += std::abs(static_cast<int32_t>(code));
    if (int64_t{128} * magnitude < kBatchSumLimit || max_code == 1) return quantized;
    max_code = std::max(1, max_code * 3 / 4);
  }
}

void pack_planes(std::span<const int16_t> codes, int8_t* planes) {
  for (size_t j = 0; j < codes.size(); ++j) {
    const int high = (codes[j] + 64) >> 7;
    const int low = codes[j] - high * 128;
    planes[j / 4 * 8 + j % 4] = static_cast<int8_t>(high);
    planes[j / 4 * 8 + 4 + j % 4] = static_cast<int8_t>(low);
  }
}

void pack_fragments(std::span<const int16_t> codes, int64_t query, int64_t dims, int8_t* fragments) {
  const int64_t steps = matrix_steps(dims);
  // The query's first word of a step. The lanes of its column are 16 bytes apart.
  int8_t* own = fragments + query / kPairQueries * steps * kPairStepBytes + query % kBlockQueries * 64 +
                query % kPairQueries / kBlockQueries * 8;
  const auto groups = static_cast<int64_t>(codes.size()) / kComponentsPerGroup;
  for (int64_t group = 0; group < groups; ++group) {
    const int16_t* from = codes.data() + group * 4;
    int8_t* to = own + group / kStepGroups * kPairStepBytes + group % 4 * 16 + group % kStepGroups / 4 * 4;
    for (int i = 0; i < 4; ++i) to[i] = static_cast<int8_t>(from[i]);
  }
}

void pack_columns(std::span<const int16_t> codes, int64_t query, int64_t dims, int8_t* columns) {
  constexpr size_t kWord = 16;  // bytes
  constexpr size_t kNextWord = kBlockQueries * kWord;
  constexpr size_t kLaneBytes = 4;  // of a word
  int8_t* to = columns + query / kBlockQueries * kBlockQueries * column_pairs(dims) * kPairBytes +
               query % kBlockQueries * static_cast<int64_t>(kWord);
  for (size_t first = 0; first < codes.size(); first += kWord) {  // the 16 bytes of one lane
    int8_t bytes[kWord] = {};
    const size_t count = std::min(kWord, codes.size() - first);
    for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<int8_t>(codes[first + i]);
    const size_t lane = first / kWord % 4;
    for (size_t word = 0; word < 4; ++word)
      std::memcpy(to + word * kNextWord + lane * kLaneBytes, bytes + word * kLaneBytes, kLaneBytes);
    if (lane == 3) to += 4 * kNextWord;
  }
}

}  // namespace glove::gpu
