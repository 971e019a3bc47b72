// Codes of 8 bits for inner products and Euclidean distances. A row x is about m + a h + s c: a mean of the
// rows, a multiple of its direction, and codes of what is left, with a bound for what these miss
// (docs/exactness.md, "Inner products and distances").
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/metric.h"
#include "model/quantized_query.h"

namespace glove {

// Any finite m and h are right; a good m is near the rows. Immutable.
struct Shift {
  std::vector<float> mean;       // [dims], m
  std::vector<float> direction;  // [dims], h, of a length of about 1

  int64_t dims() const { return static_cast<int64_t>(mean.size()); }
  bool operator==(const Shift&) const = default;
};

// The shift by nothing.
Shift no_shift(int64_t dims);

// Returns what is wrong with a shift that was read from a file; empty if nothing is.
std::string fault_of_shift(const Shift& shift, int64_t dims);

// How the rows of an index or a model are compared and coded, unless by cosine. Immutable.
struct Coding {
  RowMetric metric = RowMetric::kL2;
  Shift shift;  // empty for kHamming, whose codes are the components
  bool operator==(const Coding&) const = default;
};
using CodingPtr = std::shared_ptr<const Coding>;  // null: by cosine, of unit vectors

// Returns the metric of a coding.
inline RowMetric metric_of(const CodingPtr& coding) {
  return coding == nullptr ? RowMetric::kCosine : coding->metric;
}

// Returns the shift whose m is the mean of rows, and h its direction, or the first axis if that is 0.
// `rows` is [count, dims], finite. REQUIRES: the float environment, count >= 1.
Shift shift_of(std::span<const float> rows, int64_t dims);

// Returns the coding of such rows by a metric. Sets its own float environment.
CodingPtr coding_of(RowMetric metric, std::span<const float> rows, int64_t dims);

// What a row has beside its codes. A row that is too long for float32 has a residual of NaN, which no scan
// rules out.
struct ShiftedRow {
  float scale = 0;     // s
  float residual = 0;  // at least |x - m - a h - s c|
  float along = 0;     // a
  float length = 0;    // at least |x - m|
};

// Quantises a row: writes dims codes in -127..127, in groups of four that begin `stride` bytes apart, as
// quantize_row() does. Guarantees |s c| <= length + residual, and that what is missed has at most 2^-12 of
// the residual along h. REQUIRES: the float environment; x[dims] is finite.
ShiftedRow quantize_shifted_row(const Shift& shift, const float* x, int64_t dims, int8_t* codes,
                                int64_t stride);

// The same by any coding: without one as quantize_row() does, with neither `along` nor `length`.
ShiftedRow quantize_row_by(const CodingPtr& coding, const float* x, double norm_squared, int64_t dims,
                           int8_t* codes, int64_t stride);

// Whether codes that are laid out so, perhaps by another writer, have these guarantees.
bool bounds_hold(const Shift& shift, const float* x, int64_t dims, const int8_t* codes, int64_t stride,
                 const ShiftedRow& row);

// The codes of a query and its bound (ShiftBound): estimate and error are of the inner product, or for kL2
// of |q - m|^2 minus the square of the distance. REQUIRES: as for quantize_query(), but that the vector may
// be zero.
QuantizedQuery quantize_shifted_query(RowMetric metric, const Shift& shift, std::span<const float> query,
                                      int32_t max_code);

// Returns a number that the upper bound of a row must reach if its score may be at least `score`. For
// kHamming the bound is the score.
double bound_of_score(RowMetric metric, const Shift& shift, std::span<const float> query, double score);

}  // namespace glove
