// Words that stand apart from their vectors: a file with a word a line, or any other source.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/cancel.h"
#include "base/status.h"
#include "model/row_block.h"
#include "model/word_set.h"

namespace glove {

// Words in order. One thread at a time.
class WordSource {
 public:
  virtual ~WordSource() = default;
  // Appends the next `count` words to `words`; fewer at the end. Gives how many there were.
  virtual Result<int64_t> next(int64_t count, WordBlock& words) = 0;
  // For messages: where the words come from.
  virtual const std::string& name() const = 0;
};

// A file with a word a line, plain, gzip or zip. Lines end with \n or \r\n; a byte-order mark is ignored; a
// last line without an end counts, if it is not empty. `interrupted` stops the
// reading.
Result<std::unique_ptr<WordSource>> open_word_list(const std::string& path,
                                                   const InterruptCheck& interrupted = {});

// How many words a list has.
Result<int64_t> count_words(const std::string& path, const InterruptCheck& interrupted = {});

// All of a list, each word once; empty lines are left out.
Result<WordSet> read_word_set(const std::string& path, const InterruptCheck& interrupted = {});

// The word list of a file of vectors: `given` if it is not empty, else the first of its neighbours
// NAME.words, NAME.vocab, NAME.keys, NAME.txt that exists, where NAME is `path` without .gz or .zip and its
// last extension. An error that says so if there is none.
Result<std::string> find_word_list(const std::string& path, const std::string& given);

}  // namespace glove
