#include "tests/cpu/plain_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lists/half.h"
#include "lists/planes.h"
#include "model/cap_bound.h"
#include "model/nibbles.h"

namespace glove::cpu {
namespace {

void pack(std::span<const QuantizedQuery>, int64_t, std::vector<int8_t>& packed) {
  packed.clear();  // the loops read QuantizedQuery::codes
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
        const auto place = static_cast<size_t>(row);
        float estimate = query.bound.estimate(sum, level.scales[place]);
        float error = query.bound.error(level.residuals[place]);
        if (!level.along.empty()) query.shift.add(level.along[place], level.lengths[place], estimate, error);
        if (!(estimate + error < collectors[q].threshold()))
          collectors[q].offer(static_cast<int32_t>(part.first_row + row), estimate, error);
      }
    }
}

void pack_coarse(const SplitQuery&, int64_t, std::vector<int8_t>& packed) {
  packed.clear();  // scan_coarse() reads the query's codes
}

// The sums of one row's codes of 4 bits.
struct CoarseSums {
  int32_t high = 0;  // with the high halves of the query's codes
  int32_t low = 0;
  int32_t squares = 0;
};

CoarseSums sum_row(const ModelPart& part, const CodeLevel& level, int64_t row, const SplitQuery& query) {
  CoarseSums sums;
  for (int64_t j = 0; j < part.dims; ++j) {
    const int code = nibble_code(level.codes[static_cast<size_t>(nibble_index(row, j, part.dims))], j);
    sums.high += code * query.high.codes[static_cast<size_t>(j)];
    sums.low += code * query.low[static_cast<size_t>(j)];
    sums.squares += code * code;
  }
  return sums;
}

int64_t scan_coarse(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
                    const SplitQuery& query, const int8_t*, float threshold, CapTally& caps,
                    Survivor* survivors) {
  Survivor* end = survivors;
  const int64_t last_row = std::min(last_tile * kTileRows, part.rows);
  for (int64_t row = first_tile * kTileRows; row < last_row; ++row) {
    const CoarseSums sums = sum_row(part, level, row, query);
    const float scale = level.scales[static_cast<size_t>(row)];
    const float residual = level.residuals[static_cast<size_t>(row)];
    const float error = query.high.bound.error(residual);
    const float upper = query.high.bound.estimate(static_cast<float>(sums.high), scale) + error;
    if (upper < threshold || std::isinf(error)) continue;
    const float estimate = query.estimate(static_cast<float>(sums.high), static_cast<float>(sums.low), scale);
    const EstimatedRow estimated = {estimate, scale, residual, static_cast<float>(sums.squares)};
    const bool with_cap = caps.pay();
    const float capped = with_cap ? std::min(upper, cap_upper_bound(estimated, query.whole, upper)) : upper;
    caps.computed += with_cap;
    caps.ruled_out += capped < threshold;
    if (!(capped < threshold)) *end++ = {static_cast<int32_t>(row), estimate, capped};
  }
  return end - survivors;
}

void pack_planes(const SplitQuery& query, int64_t dims, PlaneCodes& packed) {
  packed.high.resize(static_cast<size_t>(dims));
  packed.whole.resize(static_cast<size_t>(dims));
  for (size_t j = 0; j < packed.high.size(); ++j) {
    packed.high[j] = static_cast<int8_t>(query.high.codes[j]);
    packed.whole[j] = static_cast<int16_t>(256 * query.high.codes[j] + query.low[j]);
  }
}

void estimate_rows(const ModelPart& part, const PlaneTiles& tiles, const PlaneQuery& query, float share,
                   float limit, PlaneEstimates& kept) {
  const PlaneLevel& level = *part.planes;
  int64_t list = 0;
  for (int64_t p = tiles.first * kTileRows; p < tiles.last * kTileRows; ++p) {
    while (list + 1 < level.lists() && level.offsets[static_cast<size_t>(list + 1)] <= p) ++list;
    int32_t sum = 0;
    for (int64_t j = 0; j < part.dims; ++j) {
      const PlanePlace place = plane_place(j, part.dims);
      const int bits = place.bits(level.plane1[static_cast<size_t>(plane1_index(p, place.byte, part.dims))]);
      sum += bits * query.codes.high[static_cast<size_t>(j)];
    }
    const auto bounds = level.bounds1.data() + p / kTileRows * kPlaneBounds * kTileRows + p % kTileRows;
    const float off = half_value(bounds[2 * kTileRows]) * share;
    const float by_code = half_value(bounds[kTileRows]) * query.plane1(sum) + off;
    const float estimate = half_value(bounds[0]) * query.products[static_cast<size_t>(list)] + by_code;
    if (estimate < limit) continue;
    kept.reserve(kept.count + 1);
    kept.positions[kept.count] = static_cast<int32_t>(p);
    kept.estimates[kept.count++] = estimate;
  }
}

constexpr ScanKernel kScan = {32767, 4 << 20, pack, scan};
constexpr CoarseKernel kCoarse = {pack_coarse, scan_coarse};
constexpr PlaneKernel kPlanes = {pack_planes, nullptr, estimate_rows};
}  // namespace

const Kernels kPlainKernels = {.name = "plain",
                               .single_query = &kScan,
                               .batch = &kScan,
                               .bits = nullptr,
                               .coarse = &kCoarse,
                               .planes = &kPlanes,
                               .list_products = nullptr,
                               .exact_dots = nullptr,
                               .cached_dots = nullptr,
                               .few_clusters = nullptr,
                               .many_clusters = nullptr,
                               .moment = nullptr};

}  // namespace glove::cpu
