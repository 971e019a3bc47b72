// The inner loops of k-means, one table of function pointers per instruction set.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/quantize.h"
#include "model/quantized_query.h"

namespace glove::cpu {

// How the integer sums of a tile bound the score of its rows for one centroid. For a row with scale s,
// residual r, inverse norm n and slack t (TileFactors), and with sum = the integer dot product of the codes
// of row and centroid,
//   score = sum * s * estimate - n * half_square
//   error = r * slope + offset + n * half_slack + t
// satisfy score - error <= true score <= score + error, with all roundings of these float operations
// included.
struct CentroidBound {
  float estimate = 0;
  float slope = 0;
  float offset = 0;
  float half_square = 0;
  float half_slack = 0;
};

// The rows of one tile, [kTileRows] each.
struct TileFactors {
  const float* scales;
  const float* residuals;
  const float* inverse_norms;
  const float* slacks;
};

// What a tile's bounds have shown so far.
struct TileBounds {
  float best[kTileRows];      // the highest lower bound of each row, initially -infinity
  float second[kTileRows];    // the second highest
  int32_t winner[kTileRows];  // the centroid with the highest lower bound, initially -1
};

// Centroids as nearest_by_floats() reads them: scaled as BoundedPass says, a column per centroid.
struct FloatCentroids {
  int64_t padded;             // columns, a multiple of kFloatColumns
  const float* columns;       // [dims, padded], zero in columns without a centroid
  const float* half_squares;  // [padded], half the squared lengths; +infinity without a centroid
};
constexpr int64_t kFloatColumns = 16;

// A few rows, and what has been found out about them.
struct FloatRows {
  static constexpr int kRows = 8;
  const float* vectors[kRows];
  const float* next[kRows];  // rows that will be scored next; they are fetched into the cache meanwhile
  float factors[kRows];      // what brings a row to the scale of the centroids
  float squares[kRows];      // its squared length in that scale
  float errors[kRows];       // how far a score may be from the true one
  int32_t winners[kRows];
  float gaps[kRows];
};
// Pays for the roundings of a gap.
constexpr float kGapSlack = 0x1p-20f;

// The k-means loops of one instruction set. The functions keep no state and may run on any thread.
struct ClusterKernels {
  // The largest magnitude that the code of a centroid may have.
  int32_t max_code;

  // Packs the codes of centroids in the order in which tile_sums() reads them. Parameters as in
  // ScanKernel::pack.
  void (*pack)(std::span<const QuantizedQuery> centroids, int64_t groups, std::vector<int8_t>& packed);

  // sums[c * kTileRows + row] = the dot product of the codes of centroid c and of a row of the tile.
  void (*tile_sums)(const int8_t* tile, int64_t groups, std::span<const QuantizedQuery> centroids,
                    const int8_t* packed, int32_t* sums);

  // Raises `bounds` by the scores of the centroids, which are numbered from `first` on, and replaces each sum
  // by the bits of its score, a float.
  void (*raise_bounds)(std::span<const CentroidBound> centroids, int32_t first, const TileFactors& rows,
                       int32_t* sums, TileBounds& bounds);

  // Sets masks[c] to the rows (bit = row) that centroid c may win: those whose upper bound is not below
  // thresholds[row].
  //   scores  as written by raise_bounds()
  void (*find_candidates)(std::span<const CentroidBound> centroids, const TileFactors& rows,
                          const int32_t* scores, const float* thresholds, const int32_t* winners,
                          uint32_t* masks);

  // Scores each row against each centroid: factor * (the dot product in float) - half_square. Sets winners[i]
  // to the centroid with the highest score and gaps[i] to a lower bound of the distance from the second
  // nearest centroid minus the distance from the nearest. Unless gaps[i] > 0, the winner means nothing.
  // REQUIRES: no dot product overflows.
  void (*nearest_by_floats)(const FloatCentroids& centroids, int64_t dims, FloatRows& rows);

  // wide[j] = x[j].
  void (*widen)(const float* x, int64_t dims, double* wide);

  // sums[j] += x[j] * factor rounded to an integer, ties to even. REQUIRES: |x[j] * factor| < 2^51.
  void (*add_fixed)(const float* x, double factor, int64_t dims, int64_t* sums);
};

}  // namespace glove::cpu
