// An input file without its wrapping: plain, gzip, or one member of a zip archive.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/file.h"
#include "base/status.h"
#include "loader/byte_stream.h"
#include "loader/progress.h"
#include "loader/zip_archive.h"

namespace glove {

// Its streams are independent of each other and may outlive it. One thread at a time.
class Input {
 public:
  // Looks at the content, not the name, for gzip and zip. "archive.zip/member" names a member; a zip
  // archive of several files without one is an error that lists them. `progress` is called for each MiB that
  // is read through this input; `interrupted` stops the reading. Either may be empty; what they refer to must
  // outlive the input and its streams.
  static Result<Input> open(const std::string& path, ProgressCallback progress = {},
                            InterruptCheck interrupted = {});

  const std::string& path() const { return path_; }   // as given to open(): for messages
  int64_t file_bytes() const { return file_bytes_; }  // on disk
  bool is_plain() const { return wrapping_ == Wrapping::kPlain; }
  // How many bytes are inside the wrapping; -1 if that is not known: gzip does not say.
  int64_t content_bytes() const;
  // What a reader's file_position() runs up to: file_bytes(), or the size of the copy of random_access().
  int64_t bytes_to_read() const;
  const std::shared_ptr<const File>& file() const { return file_; }

  // The first bytes inside the wrapping, at most kSampleBytes; `sample_is_whole` if there are no more.
  static constexpr size_t kSampleBytes = 131072;  // more than the longest word
  std::span<const char> sample() const { return sample_; }
  bool sample_is_whole() const { return sample_is_whole_; }

  // The first `bytes` inside the wrapping, or all if there are fewer: for formats whose rows are longer than
  // sample(). Valid until the next call.
  struct Sample {
    std::span<const char> bytes;
    bool is_whole;  // there are no more
  };
  Result<Sample> longer_sample(size_t bytes) const;

  // The bytes inside the wrapping, from the first.
  std::unique_ptr<ByteStream> stream() const;

  // Random access to the bytes inside the wrapping: the file itself, or an unnamed temporary file (in
  // $TMPDIR, else /tmp) that holds them and is made once. More than `most_bytes` inside a wrapping are an
  // error, and no more are ever written; `limit` says in its message where the limit comes from ("its header
  // describes").
  Result<std::shared_ptr<const File>> random_access(int64_t most_bytes, std::string_view limit) const;

  // What open() was given, for reading a file that belongs to this one, such as a word list.
  const InterruptCheck& interrupt_check() const;

 private:
  enum class Wrapping { kPlain, kGzip, kZip };
  struct Watch;  // shared with the streams
  class WatchedStream;
  std::unique_ptr<ByteStream> unwatched_stream() const;
  Status find_wrapping(const std::string& member);
  Status take_sample();
  // The first `bytes` of the content, or all; true if there are no more.
  Result<bool> read_beginning(size_t bytes, std::vector<char>& into) const;

  std::string path_;
  std::shared_ptr<Watch> watch_;
  std::shared_ptr<const File> file_;
  mutable std::shared_ptr<const File> copy_;  // of random_access()
  mutable int64_t copy_bytes_ = 0;
  int64_t file_bytes_ = 0;
  Wrapping wrapping_ = Wrapping::kPlain;
  ZipMember member_;
  std::vector<char> sample_;
  bool sample_is_whole_ = false;
  mutable std::vector<char> longer_sample_;  // the last one
  mutable bool longer_sample_is_whole_ = false;
};

}  // namespace glove
