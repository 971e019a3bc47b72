#include "gpu/query_codes.h"

#include <algorithm>
#include <cstdlib>

#include "model/quantize.h"

namespace glove::gpu {

QuantizedQuery quantize_for_batch(const Query& query) {
  int32_t max_code = kOnePlaneCode;
  while (true) {
    QuantizedQuery quantized = quantize_query(query.vector, query.norm_squared, max_code);
    int64_t magnitude = 0;
    for (const int16_t code : quantized.codes) magnitude += std::abs(static_cast<int32_t>(code));
    if (128 * magnitude < kBatchSumLimit || max_code == 1) return quantized;
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
  constexpr int64_t kWord = 16;
  int8_t* to = columns + query / kBlockQueries * kBlockQueries * column_pairs(dims) * kPairBytes +
               query % kBlockQueries * kWord;
  for (int64_t pair = 0; pair < dims; pair += kPairBytes, to += kPairBytes * kBlockQueries)
    for (int64_t j = pair; j < std::min<int64_t>(dims, pair + kPairBytes); ++j) {
      const int64_t lane = (j - pair) / kWord;
      const int64_t word = j % kWord / 4;
      to[word * kBlockQueries * kWord + lane * 4 + j % 4] =
          static_cast<int8_t>(codes[static_cast<size_t>(j)]);
    }
}

}  // namespace glove::gpu
