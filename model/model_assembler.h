// Assembles the words and arrays of a model from rows in order, for models on the heap and in files alike.
// Drops rows whose word is already present.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "model/byte_sink.h"
#include "model/derived_arrays.h"
#include "model/row_block.h"
#include "model/word_set.h"

namespace glove {

// Counts of the rows that were appended.
struct RowCounts {
  int64_t duplicates = 0;    // rows omitted because their word was already present
  int64_t invalid_utf8 = 0;  // words that are not valid UTF-8, which InvalidUtf8 says what becomes of
  int64_t zero_rows = 0;     // kept rows that are zero vectors
};

// What becomes of a word that is not valid UTF-8: it is kept as it is; U+FFFD replaces its invalid bytes,
// followed by a number if another word has that name; or its row is omitted.
enum class InvalidUtf8 { kKeep, kReplace, kSkip };

// One thread at a time may use it. The large arrays are passed to the sinks as they are appended; everything
// else is kept here.
class ModelAssembler {
 public:
  // The sinks receive the bytes of the vectors and of the codes of 8 and of 4 bits. They are not owned.
  ModelAssembler(ByteSink& vectors, ByteSink& codes8, ByteSink& codes4)
      : vectors_(vectors), derived_(codes8, codes4) {}

  // Keeps every row from now on, also if its word is empty or already present, as the tokens of a tokenizer
  // are. REQUIRES: there are no rows.
  void keep_every_row() { keeps_every_row_ = true; }

  // Applies to the rows that are appended from now on. Not to tokens, whose bytes are those of a tokenizer.
  void set_invalid_utf8(InvalidUtf8 what) { invalid_utf8_ = what; }

  // As DerivedArrays::omit_level4().
  void omit_level4() { derived_.omit_level4(); }
  // As DerivedArrays::set_coding(). REQUIRES: append() is not called.
  void set_coding(CodingPtr coding) { derived_.set_coding(std::move(coding)); }

  // Reserves memory for the kept data of this many rows.
  void reserve(int64_t rows);

  // Appends rows until `max_rows` rows are kept in total. Returns false once that number is reached.
  Result<bool> append(int64_t dims, const RowBlock& rows, const DerivedRows& derived, int64_t max_rows);

  // Appends one row whose arrays derive() will compute. Returns false, and appends nothing, if the word is
  // already present.
  Result<bool> append_row(std::string_view word, std::span<const float> vector);

  // Derives the arrays of all rows that append_row() has appended since the last call. `vectors` must be
  // those rows' vectors, as passed to the sink. `source` and `threads` as in DerivedArrays::append_vectors.
  Status derive(const std::string& source, std::span<const float> vectors, int threads,
                const InterruptCheck& interrupted = {});

  // Completes the last tile and frees what only appending needs. REQUIRES: every row is derived, and nothing
  // is appended afterwards.
  Status finish();

  int64_t rows() const { return words_.size(); }
  int64_t dims() const { return dims_; }
  const RowCounts& counts() const { return counts_; }
  const WordSet& words() const { return words_; }
  // Returns the norms of all rows, and the scales and residuals of both levels.
  const DerivedArrays& derived() const { return derived_; }

 private:
  bool append_word(std::string_view word, uint32_t hash);
  bool append_replaced(std::string_view word);
  Status append_kept(const RowBlock& rows, const DerivedRows& derived, size_t first, size_t last);
  void count_zero_rows(int64_t first);

  ByteSink& vectors_;
  int64_t dims_ = 0;
  bool keeps_every_row_ = false;
  InvalidUtf8 invalid_utf8_ = InvalidUtf8::kKeep;
  std::set<std::string, std::less<>> seen_;        // words that were replaced, and valid ones that look so
  std::set<std::string, std::less<>> made_names_;  // of words that were replaced
  std::map<std::string, int64_t> last_numbers_;    // of a name with U+FFFD
  WordSet words_;
  DerivedArrays derived_;
  RowCounts counts_;
};

}  // namespace glove
