// What happens to rows between a reader and a model, a block at a time: choosing, changing, checking,
// and computing what the model stores beside the vectors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/row_block.h"
#include "model/word_set.h"

namespace glove {

// Applied in this order, row by row.
struct RowTransform {
  bool lower = false;               // A-Z in words become a-z
  const WordSet* subset = nullptr;  // keep only these words (after `lower`); not owned
  bool normalize = false;           // each vector is divided by its length; zero vectors stay
};

// What is computed from a block's vectors. [rows] each, and codes [rows, padded_dims(dims)].
struct DerivedRows {
  Buffer<double> norms_squared;
  Buffer<float> scales;
  Buffer<float> residuals;
  Buffer<int8_t> codes;          // row by row, not in tiles; zeros past dims
  Buffer<uint32_t> word_hashes;  // WordSet::hash
  Buffer<char> word_bytes;       // behind RowBlock::words, one after another
};

// Dimensions with the padding of a row of codes.
int64_t padded_dims(int64_t dims);

// Applies the transform to `rows` in place and fills `derived`. An error names the row: a word that is
// empty or longer than kMaxWordBytes, a component that is NaN or infinite; the rows before it are done.
// `source` begins the message. Thread-safe. REQUIRES: the float environment.
Status transform_and_derive(const std::string& source, const RowTransform& transform, int64_t dims,
                            RowBlock& rows, DerivedRows& derived);

}  // namespace glove
