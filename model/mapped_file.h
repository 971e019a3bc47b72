// Maps a whole file for reading, and survives it when others truncate or change the file.
#pragma once

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
#include "base/file_calls.h"
#include "base/status.h"

namespace glove {

// Reading a page of a map raises a signal (on Windows an exception) if the file has become shorter or cannot
// be read. The first map installs a handler that puts zeros at any such address inside our maps and marks the
// map as failed; faults at other addresses are passed to the previous handler. The reader therefore
// continues, with wrong data that health() reports. Every thread is protected.
class MappedFile {
 public:
  // `path` is the name that messages use for the file. REQUIRES: the file is not empty.
  static Result<std::shared_ptr<MappedFile>> map(std::string path, std::shared_ptr<const File> file);
  ~MappedFile();

  std::span<const char> bytes() const { return {static_cast<const char*>(address_), bytes_}; }
  const File& file() const { return *file_; }

  // Returns the file offset of the bytes, or nullopt if they are not inside this map.
  std::optional<int64_t> offset_of(std::span<const std::byte> bytes) const;

  // A range of the file with its expected CRC-32.
  struct Content {
    int64_t offset;
    int64_t bytes;
    uint32_t crc;
  };
  // Sets all ranges of the file that matter, so that a changed time can be told from changed content.
  // REQUIRES: it is called once, before the map is shared.
  void know_content(std::vector<Content> content) { content_ = std::move(content); }

  // Returns ok, or why data read from the map may be wrong: a page could not be read, or the file itself was
  // written to or truncated. A file that was deleted, or replaced by a rename, is still the file that was
  // mapped.
  //
  // Costs one fstat() while the times are unchanged. The system sets the file's times at every write, and the
  // time of the last change cannot be set by anyone, so no write goes unnoticed, within the precision of the
  // file system's clock. touch and chmod change a time as well: the content is then read once, and if its
  // checksums are those from the opening, the new times replace the remembered ones. The only change that
  // this cannot detect is bytes that were overwritten and restored within one search. An interrupted read is
  // repeated by the next call.
  Status health(const InterruptCheck& interrupted = {}) const;

 private:
  // The times of the file's last write and of its last change of any kind, in nanoseconds, and the number of
  // its links. Each member is atomic. A torn combination never equals what fstat() reports, because every
  // write changes `changed`.
  struct Times {
    std::atomic<int64_t> modified{-1};
    std::atomic<int64_t> changed{-1};
    std::atomic<int64_t> names{-1};
    void store(const system_calls::FileStatus& status);
    bool equal(const system_calls::FileStatus& status) const;
  };

  MappedFile() = default;
  bool may_have_been_written(const system_calls::FileStatus& now) const;
  Result<bool> has_good_content(const InterruptCheck& interrupted) const;
  std::string path_;
  std::shared_ptr<const File> file_;
  void* address_ = nullptr;
  size_t bytes_ = 0;
  std::vector<Content> content_;  // empty if not known
  // The times when the content was last known to be good, and when it was last known to be bad.
  mutable Times good_;
  mutable Times bad_;
  int slot_ = -1;  // in the handler's table
};

}  // namespace glove
