// The portable k-means kernels. They run on any machine and return the same results as all others.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "cpu/kernels/cluster_kernels.h"

namespace glove::cpu {
namespace {

constexpr double kRoundingMagic = 0x1.8p52;

void pack(std::span<const QuantizedQuery>, int64_t, std::vector<int8_t>& packed) {
  packed.clear();  // tile_sums() reads QuantizedQuery::codes
}

void tile_sums(const int8_t* tile, int64_t groups, std::span<const QuantizedQuery> centroids, const int8_t*,
               int32_t* sums) {
  for (const QuantizedQuery& centroid : centroids) {
    std::fill_n(sums, kTileRows, 0);
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t row = 0; row < kTileRows; ++row)
        for (int64_t component = 0; component < kTileComponents; ++component)
          sums[row] += tile[(group * kTileRows + row) * kTileComponents + component] *
                       centroid.codes[static_cast<size_t>(group * kTileComponents + component)];
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

void widen(const float* x, int64_t dims, double* wide) {
  for (int64_t j = 0; j < dims; ++j) wide[j] = x[j];
}

void add_fixed(const float* x, double factor, int64_t dims, int64_t* sums) {
  for (int64_t j = 0; j < dims; ++j)
    sums[j] += std::bit_cast<int64_t>(static_cast<double>(x[j]) * factor + kRoundingMagic) -
               std::bit_cast<int64_t>(kRoundingMagic);
}

}  // namespace

const ClusterKernels kScalarClusterKernels = {
    32767, pack, tile_sums, raise_bounds, find_candidates, nearest_by_floats, widen, add_fixed};

}  // namespace glove::cpu
