#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "base/file_calls.h"
#include "base/posix/posix.h"

namespace glove::system_calls {
namespace {

constexpr mode_t kModeBits = 07777;
constexpr mode_t kSetIdBits = S_ISUID | S_ISGID;

FileStatus::Kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileStatus::Kind::kRegular;
  if (S_ISDIR(mode)) return FileStatus::Kind::kDirectory;
  return S_ISFIFO(mode) ? FileStatus::Kind::kPipe : FileStatus::Kind::kOther;
}

FileStatus converted(const struct stat& info) {
  return {.kind = kind_of(info.st_mode),
          .bytes = info.st_size,
          .modified = posix::modified_at(info),
          .changed = posix::changed_at(info),
          .names = static_cast<int64_t>(info.st_nlink),
          .device = static_cast<uint64_t>(info.st_dev),
          .number = static_cast<uint64_t>(info.st_ino),
          .mode = info.st_mode,
          .owner = info.st_uid,
          .group = info.st_gid};
}

// Returns the result of the system call, which is made again while a signal's handler interrupts it.
template <class Call>
auto repeated(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

const std::string_view kPathSeparators = "/";

size_t root_bytes(std::string_view path) {
  return path.starts_with('/') ? 1 : 0;
}

std::optional<FileStatus> status_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return converted(info);
}

std::optional<FileStatus> status_of(int descriptor) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return std::nullopt;
  return converted(info);
}

bool is_readable(const std::string& path) {
  return ::access(path.c_str(), R_OK) == 0;
}

bool is_link(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

std::optional<std::string> resolved_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> target(::realpath(path.c_str(), nullptr), std::free);
  if (target == nullptr) return std::nullopt;
  return std::string(target.get());
}

std::string temporary_folder() {
  const char* const chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

std::optional<std::string> environment(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::string error_text(int error) {
  return std::strerror(error);
}

int open_for_reading(const std::string& path) {
  return repeated([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
}

int create_new(const std::string& path, mode_t mode) {
  return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

void close(int descriptor) {
  ::close(descriptor);
}

int64_t read_at(int descriptor, void* into, size_t bytes, int64_t offset) {
  return repeated([&] { return ::pread(descriptor, into, bytes, static_cast<off_t>(offset)); });
}

int64_t write_at(int descriptor, const void* from, size_t bytes, int64_t offset) {
  return repeated([&] { return ::pwrite(descriptor, from, bytes, static_cast<off_t>(offset)); });
}

bool resize(int descriptor, int64_t bytes) {
  return repeated([&] { return ::ftruncate(descriptor, static_cast<off_t>(bytes)); }) == 0;
}

bool flush_to_disk(int descriptor) {
  return repeated([&] { return ::fsync(descriptor); }) == 0;
}

// The mode is set first, in its stricter form: with an access control list its group bits have another
// meaning.
bool take_over_attributes(const std::string& path, const FileStatus& of, int descriptor) {
  mode_t mode = static_cast<mode_t>(of.mode) & kModeBits;
  bool keeps_group = ::fchown(descriptor, of.owner, of.group) == 0;
  if (!keeps_group) {
    mode &= ~kSetIdBits;  // they would now apply to another owner
    keeps_group = ::fchown(descriptor, static_cast<uid_t>(-1), of.group) == 0;
  }
  const mode_t rights_of_others = mode & S_IRWXO;
  const auto reduced = static_cast<mode_t>((mode & ~static_cast<mode_t>(S_IRWXG)) | rights_of_others << 3);
  if (::fchmod(descriptor, reduced) != 0) return false;
  if (!keeps_group || !posix::copy_access_control_list(path, descriptor)) return true;
  return ::fchmod(descriptor, mode) == 0;
}

bool remove(const std::string& path) {
  return ::unlink(path.c_str()) == 0;
}

bool replace(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str()) == 0;
}

bool flush_directory(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const int result = repeated([&] { return ::fsync(descriptor); });
  const int saved = errno;
  ::close(descriptor);
  errno = saved;
  return result == 0 || saved == EINVAL;  // some file systems cannot sync a directory
}

}  // namespace glove::system_calls
