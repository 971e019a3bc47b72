// Writes a file that replaces another one in a single step once it is complete.
#pragma once

#include <optional>
#include <string>

#include "base/file.h"
#include "base/file_calls.h"
#include "base/status.h"

namespace glove {

// Until commit() the file has no name, so nothing is left behind if the process ends. On file systems without
// unnamed files it has a random name in the directory of `path`, and the destructor removes it. No other file
// is ever removed, except the one that commit() replaces. One thread at a time may use it.
class ReplacementFile {
 public:
  // A symbolic link is followed and kept. Returns an error if `path` exists and is not a regular file, such
  // as /dev/null.
  static Result<ReplacementFile> create(const std::string& path);
  ~ReplacementFile();
  ReplacementFile(ReplacementFile&& other) noexcept;
  ReplacementFile& operator=(ReplacementFile&&) = delete;

  File& file() { return file_; }
  const File& file() const { return file_; }
  // Returns the file that will be replaced. Messages about file() also use this name.
  const std::string& path() const { return path_; }

  // Returns whether there was a file at path(), as of create() or of a later flush_to_disk().
  bool replaces() const { return replaced_.has_value(); }

  // Flushes the file to the disk. First copies the mode and the access control list of the file to be
  // replaced, and as much of its owner and group as this process may set. If the group cannot be kept, the
  // group gets no more rights than others have.
  Status flush_to_disk();

  // Moves the file into its place. REQUIRES: flush_to_disk() has succeeded. After an error `path` is
  // unchanged.
  Status commit();

 private:
  ReplacementFile(std::string path, std::optional<system_calls::FileStatus> replaced)
      : path_(std::move(path)), replaced_(replaced) {}
  Status open();
  Status link();
  Status take_over_attributes();

  std::string path_;
  std::optional<system_calls::FileStatus> replaced_;  // what is at `path`
  File file_;
  std::string name_;  // the file's own name, while it has one
};

}  // namespace glove
