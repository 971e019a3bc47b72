// A whole file mapped for reading, in a process that outlives what others do to the file.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace glove {

// Reading a page of a map whose file has become shorter, or cannot be read, raises SIGBUS. The first map
// installs a handler that puts a page of zeros under an address of ours and marks the map as
// failed; any other address goes to the handler that was there before. So a reader goes on, with
// wrong data that health() tells of. Safe from any thread.
class MappedFile {
 public:
  // `path` is what messages call the file. REQUIRES: the file is not empty.
  static Result<std::shared_ptr<MappedFile>> map(std::string path, std::shared_ptr<const File> file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const char> bytes() const { return {static_cast<const char*>(address_), bytes_}; }
  const File& file() const { return *file_; }

  // Where the bytes lie in the file; nothing if they do not lie in this map.
  std::optional<int64_t> offset_of(std::span<const std::byte> bytes) const;

  // A stretch of the file with the CRC-32 that it must have.
  struct Content {
    int64_t offset;
    int64_t bytes;
    uint32_t crc;
  };
  // All of the file that matters, so that a changed time can be told from changed content. To be called once,
  // before the map is shared.
  void know_content(std::vector<Content> content) { content_ = std::move(content); }

  // Ok, or why what has been read of the map may be wrong: a page that could not be read, or the file itself
  // having been written to or cut since. A file that was deleted, or replaced by a rename, is still the file
  // that was mapped.
  //
  // One fstat() while the times stay. The system sets both whenever it writes to a file, and nobody can set
  // the time of the last change, so no write goes unseen, to the precision of the file system's clock. touch
  // and chmod change a time, too: then the content is read once, and if its checksums are those of the
  // opening, the new times are remembered in the place of the old ones. What this cannot see is bytes that
  // were overwritten and written back within one search.
  Status health() const;

 private:
  // Those of the file's last write and of its last change of any kind, in nanoseconds, and the number of its
  // names. Each is atomic; a torn whole never equals what fstat() says, because every write changes
  // `changed`.
  struct Times {
    std::atomic<int64_t> modified{-1};
    std::atomic<int64_t> changed{-1};
    std::atomic<int64_t> names{-1};
    void store(const struct stat& info);
    bool equal(const struct stat& info) const;
  };

  MappedFile() = default;
  bool may_have_been_written(const struct stat& info) const;
  bool has_good_content() const;
  std::string path_;
  std::shared_ptr<const File> file_;
  void* address_ = nullptr;
  size_t bytes_ = 0;
  std::vector<Content> content_;  // empty: not known
  // As they were when the content was last known to be good, and when it was last known not to be.
  mutable Times good_;
  mutable Times bad_;
  int slot_ = -1;  // in the handler's table
};

}  // namespace glove
