// What a search reads of a model: its parts, and the compact copies of each. These are views and own nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/require.h"

#include "model/quantize.h"

namespace glove {

// A compact copy of a part's rows that a scan reads instead of the vectors, with the data for its error bound
// (model/quantize.h, model/nibbles.h, model/bound.h).
struct CodeLevel {
  int bits = 8;                      // per code: 8, or 4
  std::span<const int8_t> codes;     // the bytes of the tiles of quantize.h, or of nibbles.h
  std::span<const float> scales;     // [rows]; none, nor residuals, of rows of bits (RowMetric::kHamming)
  std::span<const float> residuals;  // [rows]
  // Of codes that are shifted (model/shifted_codes.h), [rows] each; otherwise empty.
  std::span<const float> along = {};
  std::span<const float> lengths = {};
};

struct RecallTable;  // lists/recall_table.h

// A part's rows in lists around centroids, with codes of what is left of each unit vector when a multiple of
// its centroid is subtracted, in two planes of 2 bits (lists/planes.h). F16 values are as their bits.
struct PlaneLevel {
  std::span<const float> centroids;   // [lists, dims]
  std::span<const int64_t> offsets;   // [lists + 1]: list i has the positions offsets[i] to offsets[i + 1]
  std::span<const int32_t> rows;      // [rows], the row at each position
  std::span<const uint8_t> plane1;    // the bytes of the tiles of planes.h
  std::span<const uint16_t> bounds1;  // F16 [tiles, kPlaneBounds, kTileRows]
  std::span<const uint8_t> plane2;    // [rows, plane2_row_bytes(dims)]
  // A search for more rows is expected to be faster without planes (lists/calibration.h).
  int64_t most_k = std::numeric_limits<int64_t>::max();
  // How many lists an approximate search reads; nullptr if it reads all, because that was not calibrated.
  const RecallTable* recall = nullptr;

  int64_t lists() const { return static_cast<int64_t>(offsets.size()) - 1; }
};

// Rows [first_row, first_row + rows) of a model.
struct ModelPart {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t dims = 0;
  std::span<const float> vectors;         // [rows, dims], row-major, finite
  std::span<const double> norms_squared;  // [rows], D(x, x)
  std::vector<CodeLevel> levels;          // coarsest first: perhaps one of 4 bits, and one of 8
  const PlaneLevel* planes = nullptr;     // nullptr if the rows are not in lists
  bool derives_level4 = false;            // the file has planes in its place (lists/derived_level.h)

  // `row` is relative to first_row.
  const float* vector(int64_t row) const {
    GLOVE_REQUIRE(row >= 0 && row < rows && !vectors.empty());
    return vectors.data() + row * dims;
  }
  double norm_squared(int64_t row) const {
    GLOVE_REQUIRE(row >= 0 && row < rows);
    return norms_squared[static_cast<size_t>(row)];
  }

  // Returns the level of this width, or nullptr if the part has none.
  const CodeLevel* find_level(int bits) const {
    for (const CodeLevel& level : levels)
      if (level.bits == bits) return &level;
    return nullptr;
  }
  bool has_level(int bits) const { return find_level(bits) != nullptr; }
  // REQUIRES: has_level(bits)
  const CodeLevel& level(int bits) const {
    GLOVE_REQUIRE(has_level(bits));
    return *find_level(bits);
  }
};

}  // namespace glove
