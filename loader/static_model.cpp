#include "loader/static_model.h"

#include <cerrno>

#include "base/file.h"
#include "base/file_calls.h"

namespace glove {
namespace {

bool is_directory(const std::string& path) {
  const auto status = system_calls::status_of(path);
  return status && status->kind == system_calls::FileStatus::Kind::kDirectory;
}

}  // namespace

bool path_exists(const std::string& path) {
  return system_calls::status_of(path).has_value();
}

std::string in_folder(const std::string& folder, std::string_view name) {
  return folder + (file_name_at(folder) == folder.size() ? "" : "/") + std::string(name);
}

Result<std::string> static_model_file(const std::string& path) {
  if (!is_directory(path)) return path;
  std::string file = in_folder(path, kStaticModelFile);
  if (!path_exists(file) && errno == ENOENT)
    file = in_folder(in_folder(path, kNestedFolder), kStaticModelFile);
  if (!path_exists(file) && errno != ENOENT && errno != ENOTDIR) return system_error("read", file);
  if (!path_exists(file))
    return Error{ErrorCode::kIo,
                 "cannot read '" + path +
                     "': it is a directory, not an embedding file, and has no model.safetensors "
                     "or 0_StaticEmbedding/model.safetensors of a static embedding model"};
  const std::string tokenizer = in_folder(directory_of(file), kTokenizerFile);
  if (path_exists(tokenizer)) return file;
  if (errno != ENOENT) return system_error("read", tokenizer);
  return Error{ErrorCode::kIo, "cannot read '" + path + "': there is no " + std::string(kTokenizerFile) +
                                   " beside '" + file + "'; a static embedding model has one"};
}

}  // namespace glove
