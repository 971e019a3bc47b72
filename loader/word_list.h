// Words stored separately from their vectors: a file with one word per line, or any other source.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "model/row_block.h"
#include "model/vocabulary.h"
#include "model/word_set.h"

namespace glove {

// Words in order. One thread at a time may use it.
class WordSource {
 public:
  virtual ~WordSource() = default;
  // Appends the next `count` words to `words`, or fewer at the end. Returns the number appended.
  virtual Result<int64_t> next(int64_t count, WordBlock& words) = 0;
  // Says where the words come from, for messages.
  virtual const std::string& name() const = 0;
  // Returns what the reader of a model should know about the words; a sentence or nothing.
  virtual std::string note() const { return {}; }
};

// kWords also recognises, by the first lines, words with counts (each count at most the one before), which
// are omitted; columns separated by tabs, after a line of their names unless the first line ends with a
// number, of which the one called word, token, label or name, or else the first one, has the words; and words
// in quotation marks, which are removed.
enum class ListContent { kWords, kLines };

// Returns how many words a list should have.
using RowCount = std::function<Result<int64_t>()>;

// Opens a file with one word per line, which may be compressed. Lines end with \n, \r\n or \r. A byte-order
// mark and blank lines at the end are ignored. `interrupted` stops the reading. `rows` is called
// if a first line may be names of columns or not; it has a word if there is one more row than other words.
Result<std::unique_ptr<WordSource>> open_word_list(const std::string& path,
                                                   const InterruptCheck& interrupted = {},
                                                   ListContent content = ListContent::kWords,
                                                   const RowCount& rows = {});

// Returns the number of words in a list.
Result<int64_t> count_words(const std::string& path, const InterruptCheck& interrupted = {});

// Returns the distinct words of a list, without empty lines.
Result<WordSet> read_word_set(const std::string& path, const InterruptCheck& interrupted = {});

// Returns the word list of a file of vectors: `given` if it is not empty, otherwise the first existing file
// of NAME.words, NAME.vocab, NAME.keys and NAME.txt, where NAME is `path` without .gz or .zip and its last
// extension, and metadata.tsv beside a .tsv. Returns an error that lists these if none exists.
Result<std::string> find_word_list(const std::string& path, const std::string& given);

}  // namespace glove
