#include "gpu/layout/query_codes.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/float_environment.h"
#include "base/require.h"
#include "model/quantize.h"
#include "search/query.h"

namespace glove::gpu {

QuantizedQuery quantize_for_batch(const Query& query) {
  GLOVE_REQUIRE(query.norm_squared > 0 && ScopedFloatEnvironment::is_set());
  int32_t max_code = kOnePlaneCode;
  while (true) {
    QuantizedQuery quantized = quantize_query(query.vector, query.norm_squared, max_code);
    int32_t magnitude = 0;  // of codes of at most 127: enough for 2^24 dimensions
    for (const int16_t code : quantized.codes) magnitude += std::abs(static_cast<int32_t>(code));
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
