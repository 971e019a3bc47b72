// Between the file formats and what becomes of their rows: every format is a RowReader.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "model/row_block.h"

namespace glove {

// Reads a file once, in two halves, so that the second can run on several threads.
class RowReader {
 public:
  virtual ~RowReader() = default;

  virtual int64_t dims() const = 0;

  // How many rows the file says it has, unchecked; -1 if it does not say.
  virtual int64_t promised_rows() const = 0;

  // The fewest bytes that a row takes inside the wrapping: what limits how many rows a promise can mean.
  virtual int64_t least_row_bytes() const = 0;

  // Serial half: the file's next piece. False at the end.
  virtual Result<bool> fetch(RawBlock& raw) = 0;

  // Parallel half, thread-safe. On an error, `rows` still holds the rows before the one at fault.
  // REQUIRES: the float environment.
  virtual Status decode(const RawBlock& raw, RowBlock& rows) const = 0;

  // How far the file on disk has been read.
  virtual int64_t file_position() const = 0;
};

}  // namespace glove
