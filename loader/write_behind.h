// Writes files on a background thread while the caller computes the next data, and a destination for bytes in
// such a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/file.h"
#include "base/io_thread.h"
#include "base/mutex.h"
#include "base/status.h"
#include "loader/formats/elements.h"
#include "model/byte_sink.h"

namespace glove {

// Queues a few MiB at most. One thread at a time may call it. After an error nothing more is written.
class WriteBehind {
 public:
  WriteBehind();
  ~WriteBehind();  // discards what has not been written

  // Queues `bytes` to be written at `offset` of `file` before drain() returns, and updates the checksum *crc
  // with them, in the order of the calls. Leaves an empty buffer in `bytes`. Waits while too much is queued.
  // Returns the error of an earlier write. With `flush` the bytes are also sent on their way to the disk.
  // REQUIRES: `file` and `crc` live until drain() or the destructor.
  Status write(File& file, int64_t offset, Buffer<char>& bytes, uint32_t& crc, bool flush);

  // Waits until everything has been written.
  Status drain();

 private:
  struct Write {
    File* file;
    int64_t offset;
    Buffer<char> bytes;
    uint32_t* crc;
    bool flush;
  };
  static Status perform(const Write& next) noexcept;
  void run();

  Mutex mutex_;
  ConditionVariable queued_;
  ConditionVariable written_;
  std::deque<Write> writes_ GLOVE_GUARDED_BY(mutex_);            // the first one is being written
  std::vector<Buffer<char>> recycled_ GLOVE_GUARDED_BY(mutex_);  // buffers of completed writes, for reuse
  Status status_ GLOVE_GUARDED_BY(mutex_);
  bool stopping_ GLOVE_GUARDED_BY(mutex_) = false;
  IoThread thread_;  // not started if the system has no more threads; the caller then writes
};

// A range of a file that grows at its end, with its checksum.
class FileSink final : public ByteSink {
 public:
  // `expected_bytes`: the final size, or -1 if it is unknown. `keep`: the bytes are permanent, so they may be
  // flushed to the disk early. `type`: float32 that are appended are written as numbers of this type. What is
  // written for one that the type does not have, as only a damaged file has, is not specified.
  FileSink(WriteBehind& writer, File& file, int64_t begin, int64_t expected_bytes, bool keep = true,
           ElementType type = ElementType::kFloat32)
      : writer_(writer),
        file_(file),
        keep_(keep),
        type_(type),
        announcement_(expected_bytes),
        begin_(begin),
        end_(begin),
        announced_(begin) {}

  Status append(std::span<const char> bytes) override {
    if (type_ != ElementType::kFloat32) bytes = narrowed(bytes);
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(bytes.size(), kBufferBytes - buffer_.size()));
      const size_t filled = buffer_.size();
      buffer_.resize(filled + piece.size());
      std::memcpy(buffer_.data() + filled, piece.data(), piece.size());
      bytes = bytes.subspan(piece.size());
      if (buffer_.size() == kBufferBytes) GLOVE_RETURN_IF_ERROR(flush());
    }
    return {};
  }
  // Passes the remaining bytes to the writer.
  Status flush() {
    if (buffer_.empty()) return {};
    const auto count = static_cast<int64_t>(buffer_.size());
    if (keep_ && end_ + count > announced_) {
      // If the final size is unknown, announces as many bytes as there are already.
      const int64_t more = announcement_ >= 0 ? announcement_ : std::min(end_ - begin_, kMostAnnouncedBytes);
      const int64_t bytes = std::max(more, end_ + count - announced_);
      file_.announce(announced_, bytes);
      announced_ += bytes;
    }
    GLOVE_RETURN_IF_ERROR(writer_.write(file_, end_, buffer_, crc_, keep_));
    end_ += count;
    buffer_.reserve(kBufferBytes);
    return {};
  }

  ElementType type() const { return type_; }
  int64_t begin() const { return begin_; }
  int64_t bytes() const { return end_ + static_cast<int64_t>(buffer_.size()) - begin_; }
  // REQUIRES: flush() was called, and the writer is drained.
  uint32_t crc() const { return crc_; }

 private:
  static constexpr size_t kBufferBytes = size_t{1} << 20;
  static constexpr int64_t kMostAnnouncedBytes = int64_t{32} << 20;
  std::span<const char> narrowed(std::span<const char> floats) {
    const auto size = static_cast<size_t>(element_bytes(type_));
    narrowed_.resize(floats.size() / sizeof(float) * size);
    for (size_t i = 0; i < floats.size() / sizeof(float); ++i) {
      float value;
      std::memcpy(&value, floats.data() + i * sizeof(float), sizeof(float));
      round_element(type_, value, narrowed_.data() + i * size);
    }
    return narrowed_;
  }

  WriteBehind& writer_;
  File& file_;
  bool keep_;
  ElementType type_;
  int64_t announcement_;  // the expected number of bytes, or -1
  int64_t begin_;
  int64_t end_;
  int64_t announced_;  // the end of the announced range
  uint32_t crc_ = 0;
  Buffer<char> buffer_;
  Buffer<char> narrowed_;
};

}  // namespace glove
