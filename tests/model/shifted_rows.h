// Rows of every kind for which codes are shifted (model/shifted_codes.h), and their codes.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "model/model_part.h"
#include "model/quantize.h"
#include "model/shifted_codes.h"

namespace glove::testing {

inline constexpr int64_t kShiftedRows = 60;  // fewer than a collector shares at once

enum ShiftedKind { kNear, kFar, kFactors, kOutlier, kEqual, kIntegers, kWild, kKinds };

inline float component(ShiftedKind kind, double mean, double factor, std::mt19937_64& random) {
  std::normal_distribution<double> gauss;
  if (kind == kIntegers) return static_cast<float>(random() % 256);
  return static_cast<float>(mean + factor * gauss(random));
}

// [count, dims].
inline std::vector<float> some_rows(ShiftedKind kind, int64_t count, int64_t dims, std::mt19937_64& random) {
  std::normal_distribution<double> gauss;
  std::vector<double> means(static_cast<size_t>(dims));
  if (kind == kFar || kind == kEqual)
    for (double& mean : means) mean = 100 * gauss(random);
  std::vector<float> rows;
  for (int64_t row = 0; row < count; ++row) {
    double factor = kind == kFactors ? std::exp(1.2 * gauss(random)) : kind == kEqual ? 1e-6 : 1;
    if (kind == kOutlier && row % 20 == 7) factor = 1e12;
    if (kind == kWild) factor = std::pow(10, std::uniform_real_distribution<double>(-30, 30)(random));
    const bool is_zero = row % 13 == 5 && row < kShiftedRows;
    for (const double mean : means) rows.push_back(is_zero ? 0 : component(kind, mean, factor, random));
  }
  return rows;
}

// Rows with their codes.
struct Coded {
  Coded(const Shift& by, std::vector<float> of, int64_t dims) : rows(std::move(of)) {
    const int64_t count = std::ssize(rows) / dims;
    codes.resize(static_cast<size_t>(code_bytes(count, dims)));
    for (int64_t row = 0; row < count; ++row) {
      const ShiftedRow coded =
          quantize_shifted_row(by, rows.data() + row * dims, dims, codes.data() + code_index(row, 0, dims),
                               kTileRows * kTileComponents);
      EXPECT_TRUE(bounds_hold(by, rows.data() + row * dims, dims, codes.data() + code_index(row, 0, dims),
                              kTileRows * kTileComponents, coded));
      scales.push_back(coded.scale);
      residuals.push_back(coded.residual);
      along.push_back(coded.along);
      lengths.push_back(coded.length);
    }
    part.rows = count;
    part.dims = dims;
    part.levels = {{8, codes, scales, residuals, along, lengths}};
  }
  std::vector<float> rows;
  std::vector<int8_t> codes;
  std::vector<float> scales, residuals, along, lengths;
  ModelPart part;
};

}  // namespace glove::testing
