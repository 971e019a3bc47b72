// Between the file formats and what becomes of their rows: every format is a RowReader.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loader/status.h"

namespace glove {

// A std::vector whose resize() leaves new elements of arithmetic types uninitialised.
template <class T>
struct UninitializedAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UninitializedAllocator<U>;
  };
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
};
template <class T>
using Buffer = std::vector<T, UninitializedAllocator<T>>;

// Words one after another.
struct WordBlock {
  Buffer<char> bytes;
  std::vector<size_t> ends;  // where each word ends in `bytes`; it begins where the one before ends

  void clear() {
    bytes.clear();
    ends.clear();
  }
  std::string_view word(size_t index) const {
    const size_t begin = index == 0 ? 0 : ends[index - 1];
    return {bytes.data() + begin, ends[index] - begin};
  }
};

// A piece of a file as it lies there, whole rows, not yet decoded.
struct RawBlock {
  Buffer<char> bytes;
  WordBlock words;        // formats with a word list apart: a word a row
  int64_t first_row = 0;  // number of the block's first row, from 1; for text, of its first line
  int64_t rows = 0;       // formats with rows of fixed size: how many there are
};

// The same rows decoded.
struct RowBlock {
  std::vector<std::string_view> words;  // into the RawBlock
  Buffer<float> vectors;                // [words.size(), dims], any float32 values
  std::string_view place = "row";       // what a row is called in messages: "row", or "line"
  int64_t first_row = 0;                // the number of the block's first row; for text see row_numbers
  std::vector<int64_t> row_numbers;     // set where the numbers are not consecutive
};

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
