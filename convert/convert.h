// Converts any file that the project can read to a model file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "loader/formats/elements.h"
#include "loader/open.h"
#include "model/model_assembler.h"

namespace glove {

class Analysis;
class Backend;

struct ConvertOptions {
  ReadOptions read;
  int threads = 0;  // 0 = the cores that this process may use
  int64_t top = 0;  // keeps the first `top` words after the other filters; 0 = all
  // keeps the words in this list (one word per line, plain or compressed); empty = all
  std::string subset_path;
  bool lower = false;      // converts A-Z in words to a-z; of words that become equal, the first is kept
  bool normalize = false;  // divides each vector by its length
  ElementType type{};      // rounds to numbers of this type, in which the file has them
  std::optional<RowMetric> metric = {};  // by which the rows are compared; nullopt: that of the input
  int64_t shards = 0;  // writes this many shards and their index instead of one file; 0 = one file
  // Puts the rows into this many lists, or kAutoLists (convert/lists.h); 0 = none. Requires `analysis`.
  int64_t lists = 0;
  // Answers the queries by which a model with lists is calibrated for approximate searches. Null: its file is
  // searched exactly.
  Backend* backend = nullptr;
  // Derives the common components that the file keeps for texts. Null: the file keeps none.
  Analysis* analysis = nullptr;
  ProgressCallback progress;  // progress of reading; may be empty
  // May be empty. Called while the input is read and between the steps of writing, until the output is
  // renamed.
  InterruptCheck interrupted;
};

// What a conversion has done.
struct ConvertReport {
  std::string format;  // of the input: a Format::name
  std::string path;    // of the model file or, if there are shards, of their index
  int64_t rows = 0;
  int64_t dims = 0;
  int64_t bytes = 0;           // size of the model file, or of all shards
  int64_t subset_missing = 0;  // words of the subset list that are not in the input
  RowCounts counts;
  std::string notes;  // what describe_rows() says, in lines
};

// Reads `input_path` once, in a bounded window of memory (in addition to the words and about 100 bytes per
// row, and the vectors of a model file that has them in another type than float32), and writes `output_path`,
// which appears or changes only after everything has been written and flushed to disk. With shards, lists or
// a metric other than cosine, the whole model is first written to an unnamed file beside them, so the disk
// must have room for it twice; then all of them appear, as save_shards() says.
Result<ConvertReport> convert(const std::string& input_path, const std::string& output_path,
                              const ConvertOptions& options);

}  // namespace glove
