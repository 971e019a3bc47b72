// The arrays that a model stores in addition to its vectors, computed for a block of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/buffer.h"
#include "base/status.h"
#include "model/shifted_codes.h"

namespace glove {

// One code level of a block of rows. Codes lie row by row, not in tiles, in whole words of four bytes.
struct DerivedLevel {
  Buffer<float> scales;     // [rows]
  Buffer<float> residuals;  // [rows]
  Buffer<float> along;      // [rows] of codes that are shifted, otherwise empty
  Buffer<float> lengths;    // the same
  Buffer<int8_t> codes;     // [rows, row_bytes]
  int64_t row_bytes = 0;

  // Makes room for `rows` rows of `bytes` bytes of codes. The content is undefined afterwards.
  void resize(int64_t rows, int64_t bytes, bool is_shifted = false);
  int8_t* row_codes(int64_t row) { return codes.data() + row * row_bytes; }
};

// [rows] each, and two levels.
struct DerivedRows {
  Buffer<double> norms_squared;  // D(x, x)
  DerivedLevel level8;           // model/quantize.h, or by the coding; zeros past dims
  DerivedLevel level4;           // model/nibbles.h; not computed without `has_level4`
  bool has_level4 = true;
  CodingPtr coding;              // null: by cosine
  Buffer<uint32_t> word_hashes;  // WordSet::hash
  Buffer<char> word_bytes;       // the bytes that RowBlock::words refers to, one word after another

  // Makes room for `rows` rows. The content of the arrays is undefined afterwards. Does not change the words.
  void resize(int64_t rows, int64_t dims);

  // Computes everything except the words for one row. REQUIRES: the float environment; x[dims] is finite and
  // norm_squared = D(x, x).
  void compute(int64_t row, const float* x, double norm_squared, int64_t dims);
};

// Returns the number of dimensions including the padding of a row of codes.
int64_t padded_dims(int64_t dims);

// Fills everything except the words of `derived` for vectors [rows, dims], on up to `threads` threads (0 =
// the cores that this process may use). Returns the first row with a component that is NaN or infinite, if
// there is one; `derived` is then incomplete. The only error is kInterrupted.
Result<std::optional<int64_t>> derive_rows(std::span<const float> vectors, int64_t dims, int threads,
                                           DerivedRows& derived, const InterruptCheck& interrupted = {});

}  // namespace glove
