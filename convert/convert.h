// Any file the project can read -> a model file.
#pragma once

#include <cstdint>
#include <string>

#include "base/cancel.h"
#include "base/status.h"
#include "loader/format.h"
#include "loader/open.h"
#include "model/model_assembler.h"

namespace glove {

struct ConvertOptions {
  ReadOptions read;
  int threads = 0;            // 0 = the cores this process may use
  int64_t top = 0;            // keep the first `top` words of those that are left; 0 = all
  std::string subset_path;    // keep the words of this list (a line a word, plain or compressed); empty = all
  bool lower = false;         // A-Z in words become a-z; of words that become equal the first wins
  bool normalize = false;     // each vector is divided by its length
  ProgressCallback progress;  // of reading; may be empty
  // May be empty. Asked while the input is read and between the steps of writing, up to the renaming of the
  // output.
  InterruptCheck interrupted;
};

// What a conversion has done.
struct ConvertReport {
  std::string format;  // of the input: a Format::name
  int64_t rows = 0;
  int64_t dims = 0;
  int64_t bytes = 0;           // of the model file
  int64_t subset_missing = 0;  // words of the subset list that the input lacks
  RowCounts counts;
};

// Reads `input_path` once, in a bounded window of memory (plus the words and about 100 bytes a row), and
// writes `output_path`, which appears or changes only when all is written and on disk.
Result<ConvertReport> convert(const std::string& input_path, const std::string& output_path,
                              const ConvertOptions& options);

}  // namespace glove
