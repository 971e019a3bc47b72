// Rows in order -> the arrays of a model. The one place that drops duplicated words and lays out the
// tiles of codes, for models on the heap and in files alike.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "model/row_block.h"
#include "model/row_transform.h"
#include "model/word_set.h"

namespace glove {

// Takes bytes in order: the end of a vector, or of a file.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Status append(std::span<const char> bytes) = 0;
};

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
  ModelAssembler(ByteSink& vectors, ByteSink& codes) : vectors_(vectors), codes_(codes) {}

  // Makes room for what is kept here of this many rows.
  void reserve(int64_t rows);

  // Appends rows, up to `max_rows` kept in all; false once they are reached.
  Result<bool> append(int64_t dims, const RowBlock& rows, const DerivedRows& derived, int64_t max_rows);

  // Completes the last tile. Nothing may be appended afterwards.
  Status finish();

  int64_t rows() const { return words_.size(); }
  int64_t dims() const { return dims_; }
  const RowCounts& counts() const { return counts_; }
  const WordSet& words() const { return words_; }
  std::span<const double> norms_squared() const { return norms_squared_; }
  std::span<const float> scales() const { return scales_; }
  std::span<const float> residuals() const { return residuals_; }

 private:
  Status append_codes(const int8_t* row_codes);
  void keep(const DerivedRows& derived, size_t row);

  ByteSink& vectors_;
  ByteSink& codes_;
  int64_t dims_ = 0;
  WordSet words_;
  std::vector<double> norms_squared_;
  std::vector<float> scales_;
  std::vector<float> residuals_;
  std::vector<char> tile_;  // the tile that is being filled
  RowCounts counts_;
};

}  // namespace glove
