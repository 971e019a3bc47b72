// What happens to rows between a reader and a model, a block at a time: choosing, changing, checking,
// and computing what the model stores beside the vectors.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "model/derived_rows.h"
#include "model/row_block.h"
#include "model/word_set.h"

namespace glove {

// Applied in this order, row by row.
struct RowTransform {
  bool lower = false;               // A-Z in words become a-z
  const WordSet* subset = nullptr;  // keep only these words (after `lower`); not owned
  bool normalize = false;           // each vector is divided by its length; zero vectors stay
};

// Applies the transform to `rows` in place and fills `derived`. An error names the row: a word that is
// empty or longer than kMaxWordBytes, a component that is NaN or infinite; the rows before it are done.
// `source` begins the message. Thread-safe. REQUIRES: the float environment.
Status transform_and_derive(const std::string& source, const RowTransform& transform, int64_t dims,
                            RowBlock& rows, DerivedRows& derived);

}  // namespace glove
