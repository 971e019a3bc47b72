// An input file without its wrapping: plain, gzip, or one member of a zip archive.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "loader/byte_stream.h"
#include "loader/zip_archive.h"

namespace glove {

// Immutable after open(); its streams are independent of each other and may outlive it.
class Input {
 public:
  // Looks at the content, not the name, for gzip and zip. "archive.zip/member" names a member; a zip
  // archive of several files without one is an error that lists them.
  static Result<Input> open(const std::string& path);

  const std::string& path() const { return path_; }   // as given to open(): for messages
  int64_t file_bytes() const { return file_bytes_; }  // on disk
  bool is_plain() const { return wrapping_ == Wrapping::kPlain; }
  const std::shared_ptr<const File>& file() const { return file_; }

  // The first bytes inside the wrapping, at most kSampleBytes; `sample_is_whole` if there are no more.
  static constexpr size_t kSampleBytes = 131072;  // more than the longest word
  std::span<const char> sample() const { return sample_; }
  bool sample_is_whole() const { return sample_is_whole_; }

  // The bytes inside the wrapping, from the first.
  std::unique_ptr<ByteStream> stream() const;

  // Random access to the bytes inside the wrapping: the file itself, or an unnamed temporary file
  // (in $TMPDIR, else /tmp) that now holds them.
  Result<std::shared_ptr<const File>> random_access() const;

 private:
  enum class Wrapping { kPlain, kGzip, kZip };
  Status find_wrapping(const std::string& member);
  Status take_sample();

  std::string path_;
  std::shared_ptr<const File> file_;
  int64_t file_bytes_ = 0;
  Wrapping wrapping_ = Wrapping::kPlain;
  ZipMember member_;
  std::vector<char> sample_;
  bool sample_is_whole_ = false;
};

}  // namespace glove
