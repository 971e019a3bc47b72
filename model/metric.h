// How rows are compared with a query, and what their scores are, to the last bit (docs/exactness.md).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace glove {

// A score ranks rows, the greatest first: the cosine similarity; the inner product; minus the Euclidean
// distance; minus the number of different bits of rows of bits, of which only an index has any. Eight bits
// are a component of such a row, from 0 to 255 as a byte, so that its vectors are finite like all others.
enum class RowMetric : uint8_t { kCosine, kDot, kL2, kHamming };

// Replaces the similarity of a row that has none. Lower than every similarity.
constexpr double kNoSimilarity = -2.0;
// The same of any score.
constexpr double kNoScore = -std::numeric_limits<double>::infinity();

// "cosine", "dot", "l2" or "hamming".
std::string_view metric_name(RowMetric metric);
// Returns none for "hamming", which is for indexes only.
std::optional<RowMetric> metric_named(std::string_view name);

// Whether scores are minus a distance, which answers have in place of a similarity.
constexpr bool ranks_by_distance(RowMetric metric) {
  return metric == RowMetric::kL2 || metric == RowMetric::kHamming;
}

// The list of names for messages, without "hamming".
constexpr const char* kMetricNames = "'cosine', 'dot' or 'l2'";

// Returns sqrt(E), where E is D of docs/format.md with the squares of the differences in place of the
// products: difference, square and sum are each rounded to double, and never fused. REQUIRES: the float
// environment; [dims] finite numbers each.
double exact_distance(const float* a, const float* b, int64_t dims);

// Returns the score of a row. The norms are D(q, q) and D(x, x), which count for kCosine only. REQUIRES: as
// above; for kCosine both norms are above 0; for kHamming components are integers from 0 to 255.
double exact_score(RowMetric metric, const float* query, double query_norm_squared, const float* row,
                   double row_norm_squared, int64_t dims);

// What the column `distance` shows of a score: 1 - similarity, minus the inner product, or the distance.
inline double distance_of(RowMetric metric, double score) {
  return (metric == RowMetric::kCosine ? 1.0 : 0.0) - score;
}

}  // namespace glove
