#include "base/replacement_file.h"

#include <cerrno>
#include <utility>

namespace glove {
namespace {

// Returns the file that a symbolic link points to, so that the link is kept.
Result<std::string> link_target(const std::string& path) {
  if (!system_calls::is_link(path)) return path;
  auto target = system_calls::resolved_path(path);
  if (!target) return system_error("follow the link", path);
  return *std::move(target);
}

}  // namespace

Result<ReplacementFile> ReplacementFile::create(const std::string& given_path) {
  const auto there = system_calls::status_of(given_path);
  if (there && there->kind != system_calls::FileStatus::Kind::kRegular)
    return Error{ErrorCode::kIo, "cannot write '" + given_path + "': it is not a regular file"};
  GLOVE_ASSIGN_OR_RETURN(std::string path, link_target(given_path));
  ReplacementFile replacement(std::move(path), there);
  GLOVE_RETURN_IF_ERROR(replacement.open());
  return replacement;
}

ReplacementFile::ReplacementFile(ReplacementFile&& other) noexcept
    : path_(std::move(other.path_)),
      replaced_(other.replaced_),
      file_(std::move(other.file_)),
      name_(std::exchange(other.name_, {})) {}

ReplacementFile::~ReplacementFile() {
  if (!name_.empty()) system_calls::remove(name_);
}

// While the file is being written no one else may read it, because the file that it replaces may not be
// readable by everyone.
Status ReplacementFile::open() {
  const mode_t mode = replaced_ ? 0600 : 0666;
  const std::string directory = directory_of(path_);
  auto unnamed = File::open_unnamed(directory, mode, path_);
  if (unnamed.ok() && system_calls::can_be_named(unnamed.value().descriptor())) {
    file_ = std::move(unnamed).value();
    return {};
  }
  GLOVE_ASSIGN_OR_RETURN(file_, File::create_random(directory, mode, path_, name_));
  return {};
}

Status ReplacementFile::take_over_attributes() {
  if (const auto there = system_calls::status_of(path_)) replaced_ = there;
  if (replaced_ && !system_calls::take_over_attributes(path_, *replaced_, file_.descriptor()))
    return system_error("set the mode of", path_);
  return {};
}

// The system cannot replace a file by an unnamed one in a single step, so the file gets a random name first.
Status ReplacementFile::link() {
  constexpr int kAttempts = 100;
  for (int i = 0; i < kAttempts; ++i) {
    std::string name = File::random_name(directory_of(path_));
    if (system_calls::give_name(file_.descriptor(), name)) {
      name_ = std::move(name);
      return {};
    }
    if (errno != EEXIST) break;
  }
  return system_error("create", path_);
}

Status ReplacementFile::flush_to_disk() {
  GLOVE_RETURN_IF_ERROR(take_over_attributes());
  return file_.flush_to_disk();
}

Status ReplacementFile::commit() {
  if (name_.empty()) GLOVE_RETURN_IF_ERROR(link());
  if (!system_calls::replace(name_, path_)) return system_error("replace", path_);
  name_.clear();
  const std::string directory = directory_of(path_);
  if (!system_calls::flush_directory(directory)) return system_error("sync", directory);
  return {};
}

}  // namespace glove
