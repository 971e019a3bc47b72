// Sums over rows in double: column sums and second moments, whose every bit is specified.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/status.h"

namespace glove {

class Analysis;
struct Points;

// Rows are summed one after the other within blocks of this many, and the blocks' sums are added in their
// order.
constexpr int64_t kMomentBlock = 1024;

// What is summed of row x with weight w: y_j = w * x_j for column sums, in double, and for second moments
// y_j = (float)(w * x_j - center_j), so that products of two are exact in double.
struct MomentRows {
  std::span<const double> weights;  // [rows], or empty: all 1. A row of weight 0 is left out.
  std::span<const float> center;    // [dims], or empty: zeros
};

// One of the sums over rows that Analysis describes, and where it goes.
struct ColumnSums {
  std::span<const double> weights;
  std::span<double> sums;
};
struct GramProduct {
  std::span<const float> vector;
  std::span<double> product;
};
struct SecondMoment {
  MomentRows rows;
  std::span<double> moment;
};
using RowSums = std::variant<ColumnSums, GramProduct, SecondMoment>;

// Weights 1 / |x| that make unit vectors of rows; 0 for zero rows. REQUIRES: the float environment.
std::vector<double> unit_weights(const Points& points);

// How many rows have a weight.
int64_t weighted_rows(const Points& points, std::span<const double> weights);

// True if the rows that have a weight are the same vector w * x, but for the rounding of the weights.
bool rows_are_equal(const Points& points, std::span<const double> weights);

// The column means of w * x over the rows that have a weight. REQUIRES: the float environment.
Result<std::vector<double>> weighted_mean(Analysis& analysis, const Points& points,
                                          std::span<const double> weights, const InterruptCheck& interrupted);

}  // namespace glove
