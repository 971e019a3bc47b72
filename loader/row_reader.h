// The interface between the file formats and the consumers of their rows: every format is a RowReader.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "model/metric.h"
#include "model/row_block.h"
#include "model/stored_tokenizer.h"
#include "model/vocabulary.h"

namespace glove {

// Reads a file once, in two stages, so that the second one can run on several threads.
class RowReader {
 public:
  virtual ~RowReader() = default;

  virtual int64_t dims() const = 0;

  // Returns the number of rows that the file claims to have, unchecked; -1 if it makes no claim.
  virtual int64_t promised_rows() const = 0;

  // Returns the fewest uncompressed bytes that a row can take, which limits the number of rows that a claim
  // can mean.
  virtual int64_t least_row_bytes() const = 0;

  // Returns how the model encodes texts, and nullptr if its words are no tokens. If there is one, every row
  // is kept, and words may be empty.
  virtual StoredTokenizerPtr tokenizer() const { return nullptr; }

  // Returns the n-grams of the model, and nullptr if it has none.
  virtual SubwordsPtr subwords() const { return nullptr; }

  // Returns how the rows are compared.
  virtual RowMetric metric() const { return RowMetric::kCosine; }

  // Returns what the words are.
  virtual KeyType key_type() const { return KeyType::kText; }

  // Returns what is odd about the whole file but no error, after the last row; a sentence or nothing.
  virtual std::string warning() const { return {}; }

  // Serial stage: fetches the file's next rows. Returns false at the end.
  virtual Result<bool> fetch(RawBlock& raw) = 0;

  // Parallel stage, thread-safe. After an error, `rows` contains the rows before the faulty one. REQUIRES:
  // the float environment.
  virtual Status decode(const RawBlock& raw, RowBlock& rows) const = 0;

  // Returns how far the file on disk has been read.
  virtual int64_t file_position() const = 0;
};

}  // namespace glove
