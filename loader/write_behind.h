// Writes files on a thread of its own, while the caller computes what comes next.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "base/file.h"
#include "base/io_thread.h"
#include "base/status.h"

namespace glove {

// Holds a few MiB at most. One thread at a time may call it. After an error nothing more is written.
class WriteBehind {
 public:
  WriteBehind();
  ~WriteBehind();  // drops what is not written yet
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  // Writes `bytes` at `offset` of `file`, some time before drain() returns, and continues the checksum *crc
  // with them, in the order of the calls. Leaves an empty buffer in `bytes`. Waits while too much is queued;
  // gives the error of an earlier write. `flush`: the bytes are on their way to the disk then. `file` and
  // `crc` must live until drain() or the destructor.
  Status write(File& file, int64_t offset, Buffer<char>& bytes, uint32_t& crc, bool flush);

  // Waits until all is written.
  Status drain();

 private:
  struct Piece {
    File* file;
    int64_t offset;
    Buffer<char> bytes;
    uint32_t* crc;
    bool flush;
  };
  static Status perform(const Piece& piece) noexcept;
  void run();

  std::mutex mutex_;
  std::condition_variable queued_;
  std::condition_variable written_;
  std::deque<Piece> pieces_;            // the first is being written
  std::vector<Buffer<char>> recycled_;  // written pieces' buffers, to be used again
  Status status_;
  bool stopping_ = false;
  IoThread thread_;  // not started if the system gives no more: the caller then writes
};

}  // namespace glove
