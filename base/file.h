// A file descriptor with whole reads and writes, and errors as values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace glove {

// Owns its descriptor. Reads at an offset may come from several threads at once.
class File {
 public:
  File() = default;
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  // A regular file. Another kind (a directory, a pipe) is an error that says which.
  static Result<File> open_for_reading(const std::string& path);
  // A new file for reading and writing in `directory`, under a random name that `name` gets. Never an
  // existing one. `label` is what messages call it.
  static Result<File> create_random(const std::string& directory, mode_t mode, const std::string& label,
                                    std::string& name);
  // The same without a name: the system frees it when it is closed, or the process ends. Not every file
  // system has such files.
  static Result<File> open_unnamed(const std::string& directory, mode_t mode, const std::string& label);
  // A file in `directory`, on any file system, that nobody else sees and that goes away when it is closed.
  static Result<File> create_unnamed(const std::string& directory, const std::string& label);

  // A path in `directory` that, with near certainty, no other process will choose.
  static std::string random_name(const std::string& directory);

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }
  Result<int64_t> size() const;

  // Fills `into` from `offset`; fewer bytes only where the file ends.
  Result<size_t> read_at(int64_t offset, std::span<char> into) const;
  Status write_at(int64_t offset, std::span<const char> bytes);
  // Copies bytes [from_offset, from_offset + count) of `from`; an error if there are fewer. Within one file,
  // only towards its beginning.
  Status copy_from(const File& from, int64_t from_offset, int64_t to_offset, int64_t count);
  // Makes the file this long.
  Status resize(int64_t bytes);
  Status flush_to_disk();

  // Hints, where the system takes them: bytes [offset, offset + count) will be written soon; they are written
  // and may go to the disk already.
  void announce(int64_t offset, int64_t count);
  void start_flush(int64_t offset, int64_t count);

 private:
  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_ = -1;
  std::string path_;
};

// "cannot <action> '<path>': <the system's reason>", from errno.
Error system_error(const std::string& action, const std::string& path);

// The directory part of a path ("." if there is none), and the rest.
std::string directory_of(const std::string& path);

// Makes a rename in `directory` last through a power cut.
Status flush_directory(const std::string& directory);

}  // namespace glove
