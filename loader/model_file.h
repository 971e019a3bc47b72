// Opens and verifies model files, and the shards of a model as one model (docs/format.md).
#pragma once

#include <memory>
#include <string>

#include "base/file.h"
#include "base/status.h"
#include "loader/read_options.h"
#include "model/model.h"

namespace glove {

class Input;         // loader/input.h
struct OpenOptions;  // loader/open.h

// Maps a model file. Reads the header and checks its checksum and every tensor's type and shape, but does not
// read the data unless derivable tensors are missing or the vectors are not F32: those are then computed on
// the heap, on up to `threads` threads. Messages and the model call the file `path`.
Result<ModelPtr> open_model_file(const std::string& path, const std::shared_ptr<const File>& file,
                                 int threads, const InterruptCheck& interrupted = {});

// Reads all data of a model file once and checks every tensor's checksum, and that the arrays match the
// vectors and words. The error names the tensor, and the row if there is one. If `read_tokenizer` is not
// empty, the words must be the tokens of the file's tokenizer. `progress` and `interrupted` as in
// OpenOptions. REQUIRES: `model` came from open_model_file().
Status verify_model_file(const Model& model, const TokenizerReader& read_tokenizer = {},
                         const ProgressCallback& progress = {}, const InterruptCheck& interrupted = {});

// Opens all shards that an index names as one model: each shard is mapped and becomes a part, and the words
// of all shards are copied to the heap and sorted. Messages and the model use the path of the index. It is an
// error if a shard is missing, belongs to another set or is in the wrong place. Uses the options threads,
// verify, progress and interrupted; verify also checks that no word is in two shards.
Result<ModelPtr> open_shards(const Input& index, const OpenOptions& options);

}  // namespace glove
