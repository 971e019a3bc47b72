// The folder of a static embedding model, as model2vec and sentence-transformers write it (docs/text.md).
#pragma once

#include <string>

#include "base/status.h"

namespace glove {

// A larger tokenizer.json is an error, because it is read into memory.
constexpr int64_t kMostTokenizerBytes = int64_t{256} << 20;

// Returns the path of the file with the vectors in `path`, which may also be that file or any other one, and
// is then returned as it is. Returns an error if it is a directory that has no such file.
Result<std::string> static_model_file(const std::string& path);

}  // namespace glove
