// A file with a word a line.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "loader/byte_stream.h"
#include "loader/row_reader.h"
#include "loader/status.h"
#include "loader/word_set.h"

namespace glove {

// Reads a list line by line: the words that stand beside the vectors of a binary file. Lines end with \n or
// \r\n; a byte-order mark is ignored; a last line without an end counts. One thread at a time.
class WordList {
 public:
  // Plain, gzip or zip.
  static Result<std::unique_ptr<WordList>> open(const std::string& path);

  // Appends the next `count` lines, each ended by '\n', to `words`; fewer at the end of the list.
  // Gives how many there were.
  Result<int64_t> next(int64_t count, Buffer<char>& words);

  const std::string& path() const { return path_; }

 private:
  WordList() = default;
  std::string path_;
  std::unique_ptr<ByteStream> stream_;
  Buffer<char> window_;
  size_t window_at_ = 0;
  bool at_start_ = true;
  bool in_line_ = false;  // a line has begun whose end is still to come
  bool at_end_ = false;
};

// How many lines a list has.
Result<int64_t> count_words(const std::string& path);

// All of a list, each word once; empty lines are left out.
Result<WordSet> read_word_set(const std::string& path);

}  // namespace glove
