// The entry point of loader/: opens any file that the project can read as a Model.
#pragma once

#include <string>

#include "base/status.h"
#include "loader/read_options.h"
#include "model/model.h"
#include "model/stored_tokenizer.h"

namespace glove {

struct OpenOptions : EncoderOptions {
  int threads = 0;             // for parsing; 0 = the cores that this process may use
  bool verify = false;         // checks every tensor's checksum and invariants (reads all data once);
                               // an error unless the file is an uncompressed model file or an index of shards
  ProgressCallback progress;   // may be empty
  InterruptCheck interrupted;  // may be empty
  int64_t top = 0;             // keeps the first `top` words; 0 = all; an error for a model file
  RowMetric metric = RowMetric::kCosine;  // of glove_load_table; open_model() does not use it
  std::string counts_path;                // of a file for read_word_counts(); empty: no counts
  ReadOptions read;
};

// Opens a model according to its content, not its name. A safetensors model file (docs/format.md) is mapped,
// and only its header is read. An index of shards opens as one model of several parts. Text is parsed in
// parallel and quantised, and the result is stored on the heap. On error nothing is kept, and the message
// names the file and the line or offset.
Result<ModelPtr> open_model(const std::string& path, const OpenOptions& options = {});

}  // namespace glove
