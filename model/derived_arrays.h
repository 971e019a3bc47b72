// The arrays of a model that are computed from its vectors, in row order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "model/byte_sink.h"
#include "model/derived_rows.h"

namespace glove {

// Keeps norms, scales and residuals, and passes codes to a sink in tiles. Lays out the tiles of codes for
// models on the heap and in files alike. One thread at a time may use it.
class DerivedArrays {
 public:
  // `codes` is not owned.
  explicit DerivedArrays(ByteSink& codes) : codes_(codes) {}

  // Reserves memory for the kept arrays of this many rows.
  void reserve(int64_t rows);

  // Appends rows [first, last) of a block. REQUIRES: `dims` is the same in every call.
  Status append(const DerivedRows& rows, int64_t first, int64_t last, int64_t dims);

  // Derives and appends all rows of vectors [rows, dims], on up to `threads` threads (0 = the cores that this
  // process may use). An error begins with `source` and names the first row with a NaN or an infinity by its
  // 1-based number among all rows.
  Status append_vectors(const std::string& source, std::span<const float> vectors, int64_t dims, int threads,
                        const InterruptCheck& interrupted = {});

  // Completes the last tile. REQUIRES: nothing is appended afterwards.
  Status finish();

  int64_t rows() const { return static_cast<int64_t>(norms_squared_.size()); }
  std::span<const double> norms_squared() const { return norms_squared_; }
  std::span<const float> scales() const { return scales_; }
  std::span<const float> residuals() const { return residuals_; }

 private:
  Status append_codes(const int8_t* row_codes, int64_t row, int64_t dims);

  ByteSink& codes_;
  std::vector<double> norms_squared_;
  std::vector<float> scales_;
  std::vector<float> residuals_;
  std::vector<char> tile_;  // the tile that is being filled
};

}  // namespace glove
