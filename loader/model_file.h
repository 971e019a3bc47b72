// Opens and verifies model files (docs/format.md).
#pragma once

#include <memory>
#include <string>

#include "base/cancel.h"
#include "base/file.h"
#include "base/status.h"
#include "loader/progress.h"
#include "loader/safetensors.h"
#include "model/model.h"

namespace glove {

// Whether a safetensors header is that of a model file: it has vectors and words under our names.
bool is_model_file(const SafetensorsHeader& header);

// Maps a model file: reads the header, checks its checksum and every tensor's type and shape, and does not
// touch the data, unless tensors that can be derived are missing: they are then computed on the heap, on up
// to `threads` threads. `path` is what messages and the model call it.
Result<ModelPtr> open_model_file(const std::string& path, std::shared_ptr<const File> file, int threads,
                                 const InterruptCheck& interrupted = {});

// One pass over a model file's data: every tensor's checksum, and that the arrays are what the writer
// would have made of the vectors and words. The error names the tensor, and the row where there is one.
// `progress` and `interrupted` as in OpenOptions. REQUIRES: `model` came from open_model_file().
Status verify_model_file(const Model& model, const ProgressCallback& progress = {},
                         const InterruptCheck& interrupted = {});

}  // namespace glove
