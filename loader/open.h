// The front door of loader/: any file the project can read -> Model.
#pragma once

#include <string>

#include "base/cancel.h"
#include "base/status.h"
#include "loader/progress.h"
#include "loader/read_options.h"
#include "model/model.h"

namespace glove {

struct OpenOptions {
  int threads = 0;             // for parsing; 0 = the cores this process may use
  bool verify = false;         // check every tensor's checksum and invariant (one pass over the data);
                               // an error unless it is a model file, not compressed
  ProgressCallback progress;   // may be empty
  InterruptCheck interrupted;  // may be empty
  ReadOptions read;
};

// Opens a model by its content, not its name. A safetensors model file of docs/format.md is
// mapped: its header is read and nothing else. Text is parsed in parallel and quantised; the
// result lives on the heap. On error nothing stays behind, and the message names the file
// and the line or offset.
Result<ModelPtr> open_model(const std::string& path, const OpenOptions& options = {});

}  // namespace glove
