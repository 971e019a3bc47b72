// Writes files on a background thread while the caller computes the next data.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/buffer.h"
#include "base/file.h"
#include "base/io_thread.h"
#include "base/mutex.h"
#include "base/status.h"

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

}  // namespace glove
