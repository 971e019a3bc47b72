// What a model stores beside its vectors, computed for a block of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/status.h"

namespace glove {

// [rows] each, and codes [rows, padded_dims(dims)].
struct DerivedRows {
  Buffer<double> norms_squared;  // D(x, x)
  Buffer<float> scales;
  Buffer<float> residuals;
  Buffer<int8_t> codes;          // row by row, not in tiles; zeros past dims
  Buffer<uint32_t> word_hashes;  // WordSet::hash
  Buffer<char> word_bytes;       // behind RowBlock::words, one after another

  // Makes room for `rows` rows; what the arrays hold is undefined afterwards. Leaves the words alone.
  void resize(int64_t rows, int64_t dims);

  // Computes all but the words of one row. REQUIRES: the float environment; x[dims] is finite and
  // norm_squared = D(x, x).
  void compute(int64_t row, const float* x, double norm_squared, int64_t dims);
};

// Dimensions with the padding of a row of codes.
int64_t padded_dims(int64_t dims);

// Fills `derived`, all but the words, for vectors [rows, dims] on up to `threads` threads (0 = the cores this
// process may use). Returns the first row with a component that is NaN or infinite, if there is one; what
// is derived is then incomplete. The only error is that `interrupted` stopped it.
Result<std::optional<int64_t>> derive_rows(std::span<const float> vectors, int64_t dims, int threads,
                                           DerivedRows& derived, const InterruptCheck& interrupted = {});

}  // namespace glove
