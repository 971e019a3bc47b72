#include "base/replacement_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/system_calls.h"

namespace glove {
namespace {

constexpr mode_t kModeBits = 07777;
constexpr mode_t kSetIdBits = S_ISUID | S_ISGID;

std::optional<struct stat> status_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return info;
}

// Returns the file that a symbolic link points to, so that the link is kept.
Result<std::string> resolved_path(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return path;
  const std::unique_ptr<char, void (*)(void*)> target(::realpath(path.c_str(), nullptr), std::free);
  if (target == nullptr) return system_error("follow the link", path);
  return std::string(target.get());
}

// Whether an unnamed file can be given a name, which requires /proc on Linux.
bool can_be_linked(const File& file) {
  return ::access(system_calls::linkable_path(file.descriptor()).c_str(), F_OK) == 0;
}

}  // namespace

Result<ReplacementFile> ReplacementFile::create(const std::string& given_path) {
  const auto there = status_of(given_path);
  if (there && !S_ISREG(there->st_mode))
    return Error{ErrorCode::kIo, "cannot write '" + given_path + "': it is not a regular file"};
  GLOVE_ASSIGN_OR_RETURN(std::string path, resolved_path(given_path));
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
  if (!name_.empty()) ::unlink(name_.c_str());
}

// While the file is being written no one else may read it, because the file that it replaces may not be
// readable by everyone.
Status ReplacementFile::open() {
  const mode_t mode = replaced_ ? 0600 : 0666;
  const std::string directory = directory_of(path_);
  auto unnamed = File::open_unnamed(directory, mode, path_);
  if (unnamed.ok() && can_be_linked(unnamed.value())) {
    file_ = std::move(unnamed).value();
    return {};
  }
  GLOVE_ASSIGN_OR_RETURN(file_, File::create_random(directory, mode, path_, name_));
  return {};
}

Status ReplacementFile::take_over_attributes() {
  if (const auto there = status_of(path_)) replaced_ = there;
  if (!replaced_) return {};
  mode_t mode = replaced_->st_mode & kModeBits;
  bool keeps_group = ::fchown(file_.descriptor(), replaced_->st_uid, replaced_->st_gid) == 0;
  if (!keeps_group) {
    mode &= ~kSetIdBits;  // they would now apply to another owner
    keeps_group = ::fchown(file_.descriptor(), static_cast<uid_t>(-1), replaced_->st_gid) == 0;
  }
  const mode_t rights_of_others = mode & S_IRWXO;
  const mode_t reduced = (mode & ~static_cast<mode_t>(S_IRWXG)) | rights_of_others << 3;
  // The mode is set first, in its stricter form: with an access control list its group bits have another
  // meaning.
  if (::fchmod(file_.descriptor(), reduced) != 0) return system_error("set the mode of", path_);
  if (!keeps_group || !system_calls::copy_access_control_list(path_, file_.descriptor())) return {};
  if (::fchmod(file_.descriptor(), mode) != 0) return system_error("set the mode of", path_);
  return {};
}

// The system cannot replace a file by an unnamed one in a single step, so the file gets a random name first.
Status ReplacementFile::link() {
  constexpr int kAttempts = 100;
  const std::string from = system_calls::linkable_path(file_.descriptor());
  for (int i = 0; i < kAttempts; ++i) {
    std::string name = File::random_name(directory_of(path_));
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
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
  if (std::rename(name_.c_str(), path_.c_str()) != 0) return system_error("replace", path_);
  name_.clear();
  return flush_directory(directory_of(path_));
}

}  // namespace glove
