// The portable kernels. They run on any machine and return the same results as all others.
#include <algorithm>
#include <cmath>

#include "cpu/kernels/kernels.h"
#include "model/exact_dot.h"
#include "model/nibbles.h"

namespace glove::cpu {
namespace {

void pack(std::span<const QuantizedQuery>, int64_t, std::vector<int8_t>& packed) {
  packed.clear();  // scan() reads QuantizedQuery::codes
}

void sum_tile(const int8_t* tile, const int16_t* codes, int64_t groups, int32_t* sums) {
  std::fill_n(sums, kTileRows, 0);
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t row = 0; row < kTileRows; ++row)
      for (int64_t component = 0; component < kTileComponents; ++component)
        sums[row] += tile[(group * kTileRows + row) * kTileComponents + component] *
                     codes[group * kTileComponents + component];
}

void scan(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
          std::span<const QuantizedQuery> queries, const int8_t*, Collector* collectors) {
  const int64_t groups = component_groups(part.dims);
  int32_t sums[kTileRows];
  for (int64_t tile = first_tile; tile < last_tile; ++tile)
    for (size_t q = 0; q < queries.size(); ++q) {
      const QuantizedQuery& query = queries[q];
      sum_tile(level.codes.data() + tile * groups * kTileRows * kTileComponents, query.codes.data(), groups,
               sums);
      const int64_t first_row = tile * kTileRows;
      const int64_t end = std::min(first_row + kTileRows, part.rows);
      for (int64_t row = first_row; row < end; ++row) {
        const float sum = static_cast<float>(sums[row - first_row]);
        const float estimate = query.bound.estimate(sum, level.scales[static_cast<size_t>(row)]);
        const float error = query.bound.error(level.residuals[static_cast<size_t>(row)]);
        if (!(estimate + error < collectors[q].threshold()))
          collectors[q].offer(static_cast<int32_t>(part.first_row + row), estimate, error);
      }
    }
}

void pack_coarse(const QuantizedQuery&, int64_t, std::vector<int8_t>& packed) {
  packed.clear();  // scan_coarse() reads QuantizedQuery::codes
}

int64_t scan_coarse(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
                    const QuantizedQuery& query, const int8_t*, float threshold, Survivor* survivors) {
  Survivor* end = survivors;
  const int64_t last_row = std::min(last_tile * kTileRows, part.rows);
  for (int64_t row = first_tile * kTileRows; row < last_row; ++row) {
    int32_t sum = 0;
    for (int64_t j = 0; j < part.dims; ++j)
      sum += nibble_code(level.codes[static_cast<size_t>(nibble_index(row, j, part.dims))], j) *
             query.codes[static_cast<size_t>(j)];
    const float estimate =
        query.bound.estimate(static_cast<float>(sum), level.scales[static_cast<size_t>(row)]);
    const float error = query.bound.error(level.residuals[static_cast<size_t>(row)]);
    if (!(estimate + error < threshold) && !std::isinf(error))
      *end++ = {static_cast<int32_t>(row), estimate, estimate + error};
  }
  return end - survivors;
}

void exact_dots(const double* wide_query, const float* const* rows, int64_t count, int64_t dims,
                double* dots) {
  for (int64_t i = 0; i < count; ++i) {
    double p[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int64_t j = 0;
    for (; j + 8 <= dims; j += 8)
      for (int64_t l = 0; l < 8; ++l) p[l] += wide_query[j + l] * static_cast<double>(rows[i][j + l]);
    for (int64_t l = 0; j < dims; ++j, ++l) p[l] += wide_query[j] * static_cast<double>(rows[i][j]);
    dots[i] = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
  }
}

constexpr ScanKernel kScan = {32767, 4 << 20, pack, scan};
constexpr CoarseKernel kCoarse = {pack_coarse, scan_coarse};

}  // namespace

const Kernels kScalarKernels = {.name = "scalar",
                                .single_query = &kScan,
                                .batch = &kScan,
                                .coarse = &kCoarse,
                                .exact_dots = exact_dots,
                                .cached_dots = exact_dots,
                                .few_clusters = &kScalarClusterKernels,
                                .many_clusters = &kScalarClusterKernels,
                                .moment = &kScalarMomentKernels,
                                .convolve_rows = convolve_rows_scalar};

}  // namespace glove::cpu
