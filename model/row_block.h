// Blocks of rows on their way from a reader to a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/buffer.h"

namespace glove {

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

}  // namespace glove
