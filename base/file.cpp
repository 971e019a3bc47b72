#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/system_calls.h"
#include "base/utf8.h"

namespace glove {

Error system_error(const std::string& action, const std::string& path) {
  return {ErrorCode::kIo,
          "cannot " + action + " " + quoted_value(path, PATH_MAX) + ": " + std::strerror(errno)};
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status flush_directory(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return system_error("open", directory);
  const int result = ::fsync(descriptor);
  const int saved = errno;
  ::close(descriptor);
  // Some file systems cannot sync a directory and return EINVAL. The rename itself has happened.
  if (result != 0 && saved != EINVAL) {
    errno = saved;
    return system_error("sync", directory);
  }
  return {};
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}
File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}
File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

Result<File> File::open_for_reading(const std::string& path) {
  if (path.find('\0') != std::string::npos)
    return Error{ErrorCode::kInvalidArgument,
                 "a path holds a NUL byte: '" + path.substr(0, path.find('\0')) + "'"};
  // O_NONBLOCK, because a pipe without a writer must be rejected below rather than waited for.
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), path);
  if (!file.is_open()) return system_error("open", path);
  struct stat info {};
  if (::fstat(file.descriptor(), &info) != 0) return system_error("examine", path);
  if (S_ISDIR(info.st_mode))
    return Error{ErrorCode::kIo, "cannot read '" + path + "': it is a directory, not an embedding file"};
  if (S_ISFIFO(info.st_mode))
    return Error{ErrorCode::kIo,
                 "cannot read '" + path + "': it is a pipe; save what comes through it to a file first"};
  if (!S_ISREG(info.st_mode))
    return Error{ErrorCode::kIo, "cannot read '" + path + "': it is not a regular file"};
  return file;
}

std::string File::random_name(const std::string& directory) {
  uint64_t bits = 0;
  if (!system_calls::fill_randomly(&bits, sizeof bits))
    bits = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016" PRIx64, bits);
  return directory + "/.glove-" + digits + ".tmp";
}

Result<File> File::create_random(const std::string& directory, mode_t mode, const std::string& label,
                                 std::string& name) {
  constexpr int kAttempts = 100;
  for (int i = 0; i < kAttempts; ++i) {
    std::string path = random_name(directory);
    File file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode), label);
    if (file.is_open()) {
      name = std::move(path);
      return file;
    }
    if (errno != EEXIST) break;
  }
  return system_error("create", label);
}

Result<File> File::open_unnamed(const std::string& directory, mode_t mode, const std::string& label) {
  File file(system_calls::open_unnamed(directory, mode), label);
  if (file.is_open()) return file;
  return system_error("create", label);
}

Result<File> File::create_unnamed(const std::string& directory, const std::string& label) {
  if (auto unnamed = open_unnamed(directory, 0600, label); unnamed.ok()) return unnamed;
  std::string name;
  GLOVE_ASSIGN_OR_RETURN(File named, create_random(directory, 0600, label, name));
  if (::unlink(name.c_str()) != 0) return system_error("unlink", name);
  return named;
}

Result<int64_t> File::size() const {
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0) return system_error("examine", path_);
  return static_cast<int64_t>(info.st_size);
}

Result<size_t> File::read_at(int64_t offset, std::span<char> into) const {
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t count = ::pread(descriptor_, into.data() + done, into.size() - done,
                                  static_cast<off_t>(offset) + static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("read", path_);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

Status File::write_at(int64_t offset, std::span<const char> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                                   static_cast<off_t>(offset) + static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("write", path_);
    done += static_cast<size_t>(count);
  }
  return {};
}

Status File::copy_from(const File& from, int64_t from_offset, int64_t to_offset, int64_t count) {
  off_t in = static_cast<off_t>(from_offset);
  off_t out = static_cast<off_t>(to_offset);
  while (count > 0) {
    const ssize_t copied =
        system_calls::copy_file_range(from.descriptor(), &in, descriptor_, &out, static_cast<size_t>(count));
    // Not supported between these file systems, or a real error, which the plain copy will report.
    if (copied <= 0) break;
    count -= copied;
  }
  std::vector<char> buffer(static_cast<size_t>(std::min<int64_t>(count, int64_t{1} << 20)));
  while (count > 0) {
    const auto piece = std::min<int64_t>(count, static_cast<int64_t>(buffer.size()));
    const std::span<char> bytes(buffer.data(), static_cast<size_t>(piece));
    GLOVE_ASSIGN_OR_RETURN(const size_t got, from.read_at(in, bytes));
    if (got < bytes.size())
      return Error{ErrorCode::kIo, "'" + from.path() + "' became shorter while it was read"};
    GLOVE_RETURN_IF_ERROR(write_at(out, bytes));
    in += piece;
    out += piece;
    count -= piece;
  }
  return {};
}

Status File::resize(int64_t bytes) {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) return system_error("write", path_);
  return {};
}

void File::announce(int64_t offset, int64_t count) {
  system_calls::reserve(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(count));
}

void File::start_flush(int64_t offset, int64_t count) {
  system_calls::start_flush(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(count));
}

Status File::flush_to_disk() {
  if (::fsync(descriptor_) != 0) return system_error("write", path_);
  return {};
}

}  // namespace glove
