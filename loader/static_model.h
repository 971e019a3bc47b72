// The folder of a static embedding model, as model2vec and sentence-transformers write it (docs/text.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace glove {

// A larger tokenizer.json is an error, because it is read into memory.
constexpr int64_t kMostTokenizerBytes = int64_t{256} << 20;

// The files of a folder.
constexpr std::string_view kStaticModelFile = "model.safetensors";
constexpr std::string_view kTokenizerFile = "tokenizer.json";
constexpr std::string_view kNestedFolder = "0_StaticEmbedding";

// Returns whether there is such a file or folder. If not, errno says why.
bool path_exists(const std::string& path);

// Returns the path of a file in a folder.
std::string in_folder(const std::string& folder, std::string_view name);

// Returns the path of the file with the vectors in `path`, which may also be that file or any other one, and
// is then returned as it is. Returns an error if it is a directory that has no such file.
Result<std::string> static_model_file(const std::string& path);

}  // namespace glove
