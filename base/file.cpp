#include "base/file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/file_calls.h"
#include "base/system_calls.h"

namespace glove {

// A message holds at most so many bytes of a path.
constexpr size_t kMostPathBytes = 4096;

using FileKind = system_calls::FileStatus::Kind;

Error system_error(const std::string& action, const std::string& path) {
  return make_error(ErrorCode::kIo, "cannot ", action, " ", quoted_value(path, kMostPathBytes), ": ",
                    system_calls::error_text(errno));
}

size_t file_name_at(std::string_view path) {
  const size_t separator = path.find_last_of(system_calls::kPathSeparators);
  return separator == std::string_view::npos ? 0 : separator + 1;
}

std::string file_name_of(const std::string& path) {
  return path.substr(file_name_at(path));
}

std::string directory_of(const std::string& path) {
  const size_t name = file_name_at(path);
  if (name == 0) return ".";
  return path.substr(0, std::max(system_calls::root_bytes(path), name - 1));
}

File::~File() {
  if (descriptor_ >= 0) system_calls::close(descriptor_);
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
    return invalid_argument("a path holds a NUL byte: '", path.substr(0, path.find('\0')), "'");
  // A pipe without a writer must be rejected below rather than waited for.
  File file(system_calls::open_for_reading(path), path);
  if (!file.is_open()) return system_error("open", path);
  const auto status = system_calls::status_of(file.descriptor());
  if (!status) return system_error("examine", path);
  if (status->kind == FileKind::kDirectory)
    return make_error(ErrorCode::kIo, "cannot read '", path, "': it is a directory, not an embedding file");
  if (status->kind == FileKind::kPipe)
    return make_error(ErrorCode::kIo, "cannot read '", path,
                      "': it is a pipe; save what comes through it to a file first");
  if (status->kind != FileKind::kRegular)
    return make_error(ErrorCode::kIo, "cannot read '", path, "': it is not a regular file");
  return file;
}

std::string File::random_name(const std::string& directory) {
  uint64_t bits = 0;
  if (!system_calls::fill_randomly(&bits, sizeof bits))
    bits = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016" PRIx64, bits);
  return directory + system_calls::kPathSeparators[0] + ".glove-" + digits + ".tmp";
}

Result<File> File::create_random(const std::string& directory, mode_t mode, const std::string& label,
                                 std::string& name) {
  constexpr int kAttempts = 100;
  for (int i = 0; i < kAttempts; ++i) {
    std::string path = random_name(directory);
    File file(system_calls::create_new(path, mode), label);
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
  if (!system_calls::remove(name)) return system_error("unlink", name);
  return named;
}

Result<int64_t> File::size() const {
  const auto status = system_calls::status_of(descriptor_);
  if (!status) return system_error("examine", path_);
  return status->bytes;
}

Result<size_t> File::read_at(int64_t offset, std::span<char> into) const {
  size_t done = 0;
  while (done < into.size()) {
    const int64_t count = system_calls::read_at(descriptor_, into.data() + done, into.size() - done,
                                                offset + static_cast<int64_t>(done));
    if (count < 0) return system_error("read", path_);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

Status File::write_at(int64_t offset, std::span<const char> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const int64_t count = system_calls::write_at(descriptor_, bytes.data() + done, bytes.size() - done,
                                                 offset + static_cast<int64_t>(done));
    if (count < 0) return system_error("write", path_);
    done += static_cast<size_t>(count);
  }
  return {};
}

Status File::copy_from(const File& from, int64_t from_offset, int64_t to_offset, int64_t count) {
  int64_t in = from_offset;
  int64_t out = to_offset;
  while (count > 0) {
    const int64_t copied =
        system_calls::copy_range(from.descriptor(), &in, descriptor_, &out, static_cast<size_t>(count));
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
      return make_error(ErrorCode::kIo, "'", from.path(), "' became shorter while it was read");
    GLOVE_RETURN_IF_ERROR(write_at(out, bytes));
    in += piece;
    out += piece;
    count -= piece;
  }
  return {};
}

Status File::resize(int64_t bytes) {
  if (!system_calls::resize(descriptor_, bytes)) return system_error("write", path_);
  return {};
}

void File::announce(int64_t offset, int64_t count) {
  system_calls::reserve(descriptor_, offset, count);
}

void File::start_flush(int64_t offset, int64_t count) {
  system_calls::start_flush(descriptor_, offset, count);
}

Status File::flush_to_disk() {
  if (!system_calls::flush_to_disk(descriptor_)) return system_error("write", path_);
  return {};
}

Result<std::string> read_file(const std::string& path, int64_t most, std::string_view what) {
  GLOVE_ASSIGN_OR_RETURN(const File file, File::open_for_reading(path));
  GLOVE_ASSIGN_OR_RETURN(const int64_t bytes, file.size());
  if (bytes > most)
    return corrupt_file(path, "the file has ", bytes, " bytes, but ", what, " has at most ", most);
  std::string text(static_cast<size_t>(bytes), '\0');
  GLOVE_ASSIGN_OR_RETURN(const size_t got, file.read_at(0, text));
  text.resize(got);
  return text;
}

}  // namespace glove
