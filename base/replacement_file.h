// A file that takes the place of another in one step, when all of it is written.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/file.h"
#include "base/status.h"

namespace glove {

// Until commit() the file has no name, so that nothing stays behind whatever ends the process. Where the file
// system has no such files it has a random name beside `path` until then, which the destructor removes. No
// other file is ever removed, except the one that commit() replaces. One thread at a time.
class ReplacementFile {
 public:
  // A link is followed and stays. What is there and no regular file, such as /dev/null, is an error.
  static Result<ReplacementFile> create(const std::string& path);
  ~ReplacementFile();
  ReplacementFile(ReplacementFile&& other) noexcept;
  ReplacementFile& operator=(ReplacementFile&&) = delete;

  File& file() { return file_; }
  // The file that will be replaced; messages about file() name it, too.
  const std::string& path() const { return path_; }

  // Brings the file to the disk. Before that it takes over the mode and the access control list of the file
  // that it will replace, and as much of its owner and group as this process may set. A group that cannot be
  // kept gets no more rights than all others have.
  Status flush_to_disk();

  // Puts the file into its place. REQUIRES: flush_to_disk(). After an error `path` is as it was.
  Status commit();

 private:
  ReplacementFile(std::string path, std::optional<struct stat> replaced)
      : path_(std::move(path)), replaced_(replaced) {}
  Status open();
  Status link();
  Status take_over_attributes();

  std::string path_;
  std::optional<struct stat> replaced_;  // what is at `path`
  File file_;
  std::string name_;  // the file's own, as long as it has one
};

}  // namespace glove
