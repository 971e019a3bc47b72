// An input file without its compression: plain, gzip, bzip2, xz, zstd, or one member of a zip archive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "loader/byte_stream.h"
#include "loader/read_options.h"
#include "loader/zip_archive.h"

namespace glove {

// Its streams are independent of each other and may outlive it. One thread at a time may use it.
class Input {
 public:
  // A directory stands for the file that static_model_file() finds in it. Recognises compression by the
  // content, not by the name. "archive.zip/member" names a member; for a zip archive of several files it is
  // required, and the error lists the files. `progress` is called for each MiB that is read through this
  // input, and `interrupted` stops the reading. Both may be empty; what they refer to must outlive the input
  // and its streams.
  static Result<Input> open(const std::string& path, ProgressCallback progress = {},
                            InterruptCheck interrupted = {});

  const std::string& path() const { return path_; }   // of the file, for messages
  int64_t file_bytes() const { return file_bytes_; }  // on disk
  bool is_plain() const { return !compression_ && !is_zip_; }
  // Returns the number of uncompressed bytes; -1 if it is unknown, as for gzip.
  int64_t content_bytes() const;
  // Returns the final value of a reader's file_position(): file_bytes(), or the size of the copy that
  // random_access() made.
  int64_t bytes_to_read() const { return copy_ != nullptr ? copy_bytes_ : file_bytes_; }
  const std::shared_ptr<const File>& file() const { return file_; }

  // The first uncompressed bytes, at most kSampleBytes; `sample_is_whole` if these are all.
  static constexpr size_t kSampleBytes = 131072;  // more than the longest word
  std::string_view sample() const { return {sample_.data(), std::min(kSampleBytes, sample_.size())}; }
  bool sample_is_whole() const { return sample_is_whole_ && sample_.size() <= kSampleBytes; }

  // Returns the first `bytes` uncompressed bytes, or all if there are fewer, for formats with rows longer
  // than sample(). Both are valid until the next call.
  struct Sample {
    std::span<const char> bytes;
    bool is_whole;  // these are all the bytes
  };
  Result<Sample> longer_sample(size_t bytes) const;

  // Returns the uncompressed bytes from the beginning.
  std::unique_ptr<ByteStream> stream() const;

  // Returns a file for random access to the uncompressed bytes: the file itself, or an unnamed temporary file
  // with a copy (in $TMPDIR, else /tmp), which is made once. If the input is compressed and has more than
  // `most_bytes` bytes, returns an error, and never writes more than that. `limit` explains the limit in the
  // message ("its header describes").
  Result<std::shared_ptr<const File>> random_access(int64_t most_bytes, std::string_view limit) const;

  // The arguments of open(), for reading a related file such as a word list.
  const InterruptCheck& interrupt_check() const;

 private:
  struct Watch;  // shared with the streams
  class WatchedStream;
  std::unique_ptr<ByteStream> unwatched_stream() const;
  Status find_wrapping(const std::string& member);
  // Reads the first `bytes` bytes of the content, or all. Returns true if these are all.
  Result<bool> read_beginning(size_t bytes, std::vector<char>& into) const;

  std::string path_;
  std::shared_ptr<Watch> watch_;
  std::shared_ptr<const File> file_;
  mutable std::shared_ptr<const File> copy_;  // of random_access()
  mutable int64_t copy_bytes_ = 0;
  int64_t file_bytes_ = 0;
  std::optional<Compression> compression_;
  bool is_zip_ = false;
  ZipMember member_;
  mutable std::vector<char> sample_;  // the longest one so far
  mutable bool sample_is_whole_ = false;
};

}  // namespace glove
