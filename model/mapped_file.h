// A whole file mapped for reading, in a process that outlives what others do to the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/file.h"
#include "base/status.h"

namespace glove {

// Reading a page of a map whose file has become shorter, or cannot be read, raises SIGBUS. The first map
// installs a handler that puts a page of zeros under an address of ours and marks the map as
// failed; any other address goes to the handler that was there before. So a reader goes on, with
// wrong data that health() tells of. Immutable; safe from any thread.
class MappedFile {
 public:
  // `path` is what messages call the file. REQUIRES: the file is not empty.
  static Result<std::shared_ptr<const MappedFile>> map(std::string path, std::shared_ptr<const File> file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const char> bytes() const { return {static_cast<const char*>(address_), bytes_}; }
  const File& file() const { return *file_; }

  // Where the bytes lie in the file; nothing if they do not lie in this map.
  std::optional<int64_t> offset_of(std::span<const std::byte> bytes) const;

  // Ok, or why what has been read of the map may be wrong: a page that could not be read, or the file
  // itself having been written to or cut since. A file that was deleted, or replaced by a rename, is
  // still the file that was mapped. One fstat().
  Status health() const;

 private:
  MappedFile() = default;
  std::string path_;
  std::shared_ptr<const File> file_;
  void* address_ = nullptr;
  size_t bytes_ = 0;
  int64_t modified_ns_ = 0;
  int slot_ = -1;  // in the handler's table
};

}  // namespace glove
