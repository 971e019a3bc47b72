// The arrays of a model that are computed from its vectors, in the order of the rows.
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

// Norms, scales and residuals stay here; codes go to a sink in tiles. The one place that lays out tiles of
// codes, for models on the heap and in files alike. One thread at a time.
class DerivedArrays {
 public:
  // `codes` is not owned.
  explicit DerivedArrays(ByteSink& codes) : codes_(codes) {}

  // Makes room for what is kept here of this many rows.
  void reserve(int64_t rows);

  // Appends rows [first, last) of a block. REQUIRES: `dims` is the same in each call.
  Status append(const DerivedRows& rows, int64_t first, int64_t last, int64_t dims);

  // Derives and appends all rows of vectors [rows, dims], on up to `threads` threads (0 = the cores this
  // process may use). An error, which begins with `source`, names the first row with a NaN or an infinity by
  // its number among all rows, from 1.
  Status append_vectors(const std::string& source, std::span<const float> vectors, int64_t dims, int threads,
                        const InterruptCheck& interrupted = {});

  // Completes the last tile. Nothing may be appended afterwards.
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
