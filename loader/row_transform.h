// Processes blocks of rows between a reader and a model: selects, modifies and checks rows, and computes what
// the model stores in addition to the vectors.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "loader/formats/elements.h"
#include "model/derived_rows.h"
#include "model/row_block.h"
#include "model/word_set.h"

namespace glove {

// Ends the message about a row that could be left out.
inline constexpr const char* kSkipHint =
    "; --skip-invalid of glove-convert or \"invalid\":\"skip\" of glove_load leaves such rows out";

// The options are applied in this order, row by row.
struct RowTransform {
  std::string encoding;             // of the words, which are converted to UTF-8; empty: it is UTF-8
  bool lower = false;               // converts A-Z in words to a-z
  const WordSet* subset = nullptr;  // keeps only these words (after `lower`); not owned
  bool skip_invalid = false;        // leaves out rows that would be errors, and those with a white-space word
  bool normalize = false;           // divides each vector by its length; zero vectors stay zero
  ElementType type{};               // rounds to numbers of this type; those of int8 must be integers
  bool empty_words = false;         // accepts empty words
  bool omit_level4 = false;         // derives no codes of 4 bits
};

// Applies the transform to `rows` in place and fills `derived`. An error names the row; a word that is empty
// (unless they are accepted) or longer than kMaxWordBytes and a component that is NaN, infinite or none of
// the type are errors, and the rows before it have been processed; or such rows are added to rows.left_out.
// Bytes that do not belong to the encoding become bytes that do not belong to UTF-8. `source` begins the
// message. Thread-safe. REQUIRES: the float environment.
Status transform_and_derive(const std::string& source, const RowTransform& transform, int64_t dims,
                            RowBlock& rows, DerivedRows& derived);

}  // namespace glove
