// Blocks of rows in transit from a reader to a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/buffer.h"

namespace glove {

// Words stored one after another.
struct WordBlock {
  Buffer<char> bytes;
  std::vector<size_t> ends;  // the end of each word in `bytes`; a word begins where the previous one ends

  void clear() {
    bytes.clear();
    ends.clear();
  }
  std::string_view word(size_t index) const {
    const size_t begin = index == 0 ? 0 : ends[index - 1];
    return {bytes.data() + begin, ends[index] - begin};
  }
};

// Whole rows of a file as stored there, not yet decoded.
struct RawBlock {
  Buffer<char> bytes;
  WordBlock words;        // for formats with a separate word list: one word per row
  int64_t first_row = 0;  // 1-based number of the block's first row; for text, of its first line
  int64_t rows = 0;       // number of rows; set for formats with rows of fixed size
};

// Rows of a file that are left out, by what is wrong with them.
struct LeftOut {
  struct Kind {
    const char* fault;  // of static storage, continues "rows that"
    int64_t rows;
    int64_t first;  // the number of the first of them
  };
  std::vector<Kind> kinds;
  std::string_view place = "row";  // RowBlock::place

  void add(const char* fault, int64_t first, int64_t rows = 1) {
    for (Kind& kind : kinds)
      if (std::string_view(kind.fault) == fault) {
        kind.rows += rows;
        return;
      }
    kinds.push_back({fault, rows, first});
  }
};

// The same rows, decoded.
struct RowBlock {
  std::vector<std::string_view> words;  // views into the RawBlock
  Buffer<float> vectors;                // [words.size(), dims], any float32 values
  std::string_view place = "row";       // the name of a row in messages: "row" or "line"
  int64_t first_row = 0;                // number of the block's first row; for text see row_numbers
  std::vector<int64_t> row_numbers;     // set if the numbers are not consecutive
  LeftOut left_out;                     // what was in the block besides
};

}  // namespace glove
