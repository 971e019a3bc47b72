// The portable kernels. They run on any machine and return the same results as all others.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "cpu/kernels/kernels.h"
#include "lists/half.h"
#include "lists/list_codes.h"
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

void scan_bits(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
               std::span<const QuantizedQuery> queries, const int8_t*, Collector* collectors) {
  const int64_t last_row = std::min(last_tile * kTileRows, part.rows);
  for (int64_t row = first_tile * kTileRows; row < last_row; ++row)
    for (size_t q = 0; q < queries.size(); ++q) {
      int different = 0;
      for (int64_t j = 0; j < part.dims; ++j)
        different += std::popcount(
            static_cast<uint8_t>(level.codes[static_cast<size_t>(code_index(row, j, part.dims))] ^
                                 queries[q].codes[static_cast<size_t>(j)]));
      const auto score = static_cast<float>(-different);
      if (!(score < collectors[q].threshold()))
        collectors[q].offer(static_cast<int32_t>(part.first_row + row), score, 0);
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

PlaneCounts scan_planes(const ModelPart& part, int64_t first_tile, int64_t last_tile, const PlaneQuery& query,
                        float threshold, PlaneRows&, Survivor* survivors) {
  const PlaneLevel& level = *part.planes;
  const PlaneTest test(threshold);
  Survivor* end = survivors;
  int64_t list = 0;
  int64_t second_reads = 0;
  for (int64_t p = first_tile * kTileRows; p < std::min(last_tile * kTileRows, part.rows); ++p) {
    while (list + 1 < level.lists() && level.offsets[static_cast<size_t>(list + 1)] <= p) ++list;
    const float centroid = query.products[static_cast<size_t>(list)];
    const uint8_t* const row2 = level.plane2.data() + p * plane2_row_bytes(part.dims);
    int32_t sum1 = 0;
    int32_t sum2 = 0;
    for (int64_t j = 0; j < part.dims; ++j) {
      const auto component = static_cast<size_t>(j);
      const PlanePlace place = plane_place(j, part.dims);
      const int high = place.bits(level.plane1[static_cast<size_t>(plane1_index(p, place.byte, part.dims))]);
      sum1 += high * query.codes.high[component];
      sum2 += (4 * high + place.bits(row2[place.byte])) * query.codes.whole[component];
    }
    const auto bounds1 = level.bounds1.data() + p / kTileRows * kPlaneBounds * kTileRows + p % kTileRows;
    const PlaneBound bound1 = {bounds1[0], bounds1[kTileRows], bounds1[2 * kTileRows]};
    const PlaneBound bound2 = plane2_bound(row2, part.dims);
    const auto product = [&](const PlaneBound& bound, float by_code) {
      return half_value(bound.centroid) * centroid + half_value(bound.code) * by_code;
    };
    const float by_plane1 = product(bound1, query.plane1(sum1));
    const float by_both = product(bound2, query.whole(sum2));
    const float distance = half_value(bound2.distance);
    if (by_plane1 + half_value(bound1.distance) * test.sine < test.limit) continue;
    ++second_reads;
    const int32_t row = level.rows[static_cast<size_t>(p)];
    if (bound2.distance == 0 || row < 0 || row >= part.rows || by_both + distance * test.sine < test.limit)
      continue;
    *end++ = {row, by_both, largest_similarity(by_both, distance)};
  }
  return {second_reads, end - survivors};
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

void list_products(const int16_t* query, const int8_t* codes, int64_t lists, int64_t dims,
                   int32_t* products) {
  for (int64_t list = 0; list < lists; ++list, codes += list_code_stride(dims)) {
    int32_t sum = 0;
    for (int64_t j = 0; j < dims; ++j) sum += int32_t{query[j]} * codes[j];
    products[list] = sum;
  }
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

#include "cpu/kernels/row_loops-inl.h"

void update_gram(const double* y, int64_t rows, int64_t dims, int64_t first, int64_t last, double* matrix) {
  const int64_t stride = gram_stride(dims);
  for (int64_t i = first; i < last; ++i)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = i; j < dims; ++j) matrix[i * stride + j] += y[row * stride + i] * y[row * stride + j];
}

void tile_sums(const int8_t* tile, int64_t groups, std::span<const QuantizedQuery> centroids, const int8_t*,
               int32_t* sums) {
  for (const QuantizedQuery& centroid : centroids) {
    sum_tile(tile, centroid.codes.data(), groups, sums);
    sums += kTileRows;
  }
}

float error_of(const CentroidBound& centroid, const TileFactors& rows, int64_t row) {
  return (rows.residuals[row] * centroid.slope + centroid.offset) +
         (rows.inverse_norms[row] * centroid.half_slack + rows.slacks[row]);
}

void raise_bounds(std::span<const CentroidBound> centroids, int32_t first, const TileFactors& rows,
                  int32_t* sums, TileBounds& bounds) {
  for (const CentroidBound& centroid : centroids) {
    for (int64_t row = 0; row < kTileRows; ++row) {
      const float score = static_cast<float>(sums[row]) * rows.scales[row] * centroid.estimate -
                          rows.inverse_norms[row] * centroid.half_square;
      sums[row] = std::bit_cast<int32_t>(score);
      const float lower = score - error_of(centroid, rows, row);
      if (lower > bounds.best[row]) {
        bounds.second[row] = bounds.best[row];
        bounds.best[row] = lower;
        bounds.winner[row] = first;
      } else if (lower > bounds.second[row]) {
        bounds.second[row] = lower;
      }
    }
    sums += kTileRows;
    ++first;
  }
}

void find_candidates(std::span<const CentroidBound> centroids, const TileFactors& rows, const int32_t* scores,
                     const float* thresholds, const int32_t* winners, uint32_t* masks) {
  int32_t number = 0;
  for (const CentroidBound& centroid : centroids) {
    uint32_t mask = 0;
    for (int64_t row = 0; row < kTileRows; ++row) {
      const float upper = std::bit_cast<float>(scores[row]) + error_of(centroid, rows, row);
      if (!(upper < thresholds[row]) && winners[row] != number) mask |= uint32_t{1} << row;
    }
    *masks++ = mask;
    scores += kTileRows;
    ++number;
  }
}

// With the squared distances square - 2 * score, the difference of the distances is the difference of the
// squares divided by their sum.
float distance_gap(float best, float second, float square, float error) {
  const float numerator = (best - second) * (1 - kGapSlack) - 2 * error;
  const float nearest = std::max(0.0f, square - 2 * best + 2 * error);
  const float next = std::max(0.0f, square - 2 * second + 2 * error);
  return 2 * numerator / ((std::sqrt(nearest) + std::sqrt(next)) * (1 + kGapSlack));
}

void nearest_by_floats(const FloatCentroids& centroids, int64_t dims, FloatRows& rows) {
  for (int row = 0; row < FloatRows::kRows; ++row) {
    float best = -std::numeric_limits<float>::infinity();
    float second = best;
    for (int64_t c = 0; c < centroids.padded; ++c) {
      float dot = 0;
      for (int64_t j = 0; j < dims; ++j)
        dot += rows.vectors[row][j] * centroids.columns[j * centroids.padded + c];
      const float score = rows.factors[row] * dot - centroids.half_squares[c];
      if (score > best) rows.winners[row] = static_cast<int32_t>(c);
      second = std::max(second, std::min(best, score));
      best = std::max(best, score);
    }
    rows.gaps[row] = distance_gap(best, second, rows.squares[row], rows.errors[row]);
  }
}

constexpr ScanKernel kScan = {32767, 4 << 20, pack, scan};
constexpr ScanKernel kBits = {255, 4 << 20, pack, scan_bits};
constexpr CoarseKernel kCoarse = {pack_coarse, scan_coarse};
constexpr PlaneKernel kPlanes = {pack_planes, scan_planes, estimate_rows};
constexpr MomentKernels kMoment = {add_row, center_row, update_gram};
constexpr ClusterKernels kClusters = {
    32767, pack, tile_sums, raise_bounds, find_candidates, nearest_by_floats, widen, add_fixed};

}  // namespace

const Kernels kScalarKernels = {.name = "scalar",
                                .single_query = &kScan,
                                .batch = &kScan,
                                .bits = &kBits,
                                .coarse = &kCoarse,
                                .planes = &kPlanes,
                                .list_products = list_products,
                                .exact_dots = exact_dots,
                                .cached_dots = exact_dots,
                                .few_clusters = &kClusters,
                                .many_clusters = &kClusters,
                                .moment = &kMoment};

}  // namespace glove::cpu
