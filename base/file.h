// A file descriptor with complete reads and writes, and errors as values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace glove {

// Owns its descriptor. Several threads may read at offsets at the same time.
class File {
 public:
  File() = default;
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  // Opens a regular file. For any other kind (a directory, a pipe) the error says which kind it is.
  static Result<File> open_for_reading(const std::string& path);
  // Creates a new file for reading and writing in `directory`, under a random name that is stored in `name`.
  // Never opens an existing file. Messages call it `label`.
  static Result<File> create_random(const std::string& directory, mode_t mode, const std::string& label,
                                    std::string& name);
  // The same without a name: the system frees it when it is closed or the process ends. Not every file system
  // supports such files.
  static Result<File> open_unnamed(const std::string& directory, mode_t mode, const std::string& label);
  // Creates a file in `directory`, on any file system, that no one else can see and that is deleted when it
  // is closed.
  static Result<File> create_unnamed(const std::string& directory, const std::string& label);

  // Returns a path in `directory` that almost certainly no other process will choose.
  static std::string random_name(const std::string& directory);

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }
  Result<int64_t> size() const;

  // Fills `into` from `offset`. Reads fewer bytes only at the end of the file.
  Result<size_t> read_at(int64_t offset, std::span<char> into) const;
  Status write_at(int64_t offset, std::span<const char> bytes);
  // Copies bytes [from_offset, from_offset + count) of `from`. Returns an error if there are fewer. Within
  // one file, bytes may only be moved towards its beginning.
  Status copy_from(const File& from, int64_t from_offset, int64_t to_offset, int64_t count);
  // Sets the file's length.
  Status resize(int64_t bytes);
  Status flush_to_disk();

  // Hints to the system, if it supports them: bytes [offset, offset + count) will be written soon; these
  // bytes are written and may be flushed to the disk.
  void announce(int64_t offset, int64_t count);
  void start_flush(int64_t offset, int64_t count);

 private:
  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_ = -1;
  std::string path_;
};

// "cannot <action> '<path>': <the system's reason>", from errno.
Error system_error(const std::string& action, const std::string& path);

// Returns the content of a file. It is an error if it has more than `most` bytes, which is the most of
// `what`.
Result<std::string> read_file(const std::string& path, int64_t most, std::string_view what);

// Returns where the last part of a path begins, behind its last separator; 0 if it has none.
size_t file_name_at(std::string_view path);
// Returns the last part of a path, and the part before it ("." if there is none).
std::string file_name_of(const std::string& path);
std::string directory_of(const std::string& path);

}  // namespace glove
