// Rows in order -> the words and arrays of a model. The one place that drops duplicated words, for models on
// the heap and in files alike.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/byte_sink.h"
#include "model/derived_arrays.h"
#include "model/row_block.h"
#include "model/word_set.h"

namespace glove {

// What was met on the way.
struct RowCounts {
  int64_t duplicates = 0;    // rows left out because their word was there already
  int64_t invalid_utf8 = 0;  // kept words that are not valid UTF-8
  int64_t zero_rows = 0;     // kept rows without a direction
};

// One thread at a time. The large arrays go to the sinks as they come; the rest stays here.
class ModelAssembler {
 public:
  // The sinks get the bytes of `vectors` and `codes`; not owned.
  ModelAssembler(ByteSink& vectors, ByteSink& codes) : vectors_(vectors), derived_(codes) {}

  // Makes room for what is kept here of this many rows.
  void reserve(int64_t rows);

  // Appends rows, up to `max_rows` kept in all; false once they are reached.
  Result<bool> append(int64_t dims, const RowBlock& rows, const DerivedRows& derived, int64_t max_rows);

  // Appends one row whose arrays derive() will compute. False, and nothing appended, if the word is there
  // already.
  Result<bool> append_row(std::string_view word, std::span<const float> vector);

  // Derives the arrays of all rows that append_row() has appended since the last call. vectors: theirs, as
  // they went to the sink. `source` and `threads` as in DerivedArrays::append_vectors.
  Status derive(const std::string& source, std::span<const float> vectors, int threads,
                const InterruptCheck& interrupted = {});

  // Completes the last tile. Nothing may be appended afterwards. REQUIRES: every row is derived.
  Status finish();

  int64_t rows() const { return words_.size(); }
  int64_t dims() const { return dims_; }
  const RowCounts& counts() const { return counts_; }
  const WordSet& words() const { return words_; }
  // Their norms, scales and residuals.
  const DerivedArrays& derived() const { return derived_; }

 private:
  bool append_word(std::string_view word, uint32_t hash);
  Status append_kept(const RowBlock& rows, const DerivedRows& derived, size_t first, size_t last);
  void count_zero_rows(int64_t first);

  ByteSink& vectors_;
  int64_t dims_ = 0;
  WordSet words_;
  DerivedArrays derived_;
  RowCounts counts_;
};

}  // namespace glove
