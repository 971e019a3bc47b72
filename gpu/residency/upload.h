// Moves bytes from files or memory to a device: background threads read ahead, and the caller's thread
// copies.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/io_thread.h"
#include "base/mutex.h"
#include "base/status.h"
#include "gpu/device/device.h"

namespace glove::gpu {

// Bytes to copy to the device: from `memory` if it is not null, otherwise from the open file `descriptor` at
// `offset`.
struct CopyTask {
  const std::byte* memory = nullptr;
  int descriptor = -1;
  int64_t offset = 0;
  int64_t device_offset = 0;  // within the block of device memory that is passed to copy_to()
  int64_t bytes = 0;
};

// Returns the number of threads that an upload reads with on this machine.
int upload_threads();

// One upload. Reading begins before the destination is allocated, because the allocation takes about as long
// as filling the staging memory. Any free thread may fill a slice of a block, but each block is copied as a
// whole, because every copy adds 2 us to the transfer time of its bytes.
class Upload {
 public:
  // Starts up to `threads` reading threads; fewer, or none, are sufficient. `path` is used in messages.
  // `cancelled` stops the upload early with kInterrupted. The device and `cancelled` must outlive the upload,
  // and the files and memory of `tasks` must stay readable until copy_to() or the destructor returns. Fails
  // if no staging memory is available.
  static Result<std::unique_ptr<Upload>> start(Device& device, std::vector<CopyTask> tasks, int threads,
                                               std::string path, const std::atomic<bool>& cancelled);

  // Stops reading, and waits for the threads and for copies in progress.
  ~Upload();

  // Copies all tasks. On success everything is on the device. When it returns, successful or not, no copy is
  // in progress and the files and memory of the tasks are no longer read. Returns kIo if a file ends too
  // soon. `interrupted` is called at least every 2 ms, with no lock held. REQUIRES: it is called at most
  // once.
  Status copy_to(std::byte* device_block, const InterruptCheck& interrupted = {});

 private:
  struct Block {
    size_t task;
    int64_t begin;  // within the task
    int64_t bytes;
  };

  Upload(std::shared_ptr<CopyRing> ring, std::vector<CopyTask> tasks, std::string path,
         const std::atomic<bool>& cancelled);
  void start_threads(int threads);
  void read_ahead();
  void read_slice() GLOVE_REQUIRES(mutex_);
  Status fill(const Block& block, int64_t begin, int64_t bytes, std::byte* out) const;
  Status wait_until_filled(size_t index, const InterruptCheck& interrupted);
  Status copy_blocks(std::byte* device_block, const InterruptCheck& interrupted);
  void release(size_t blocks);
  void stop_reading();
  int slot_of(size_t index) const { return static_cast<int>(index % static_cast<size_t>(ring_->slots())); }

  const std::shared_ptr<CopyRing> ring_;
  const std::vector<CopyTask> tasks_;
  const std::string path_;
  const std::atomic<bool>& cancelled_;
  std::vector<Block> blocks_;
  int64_t slice_bytes_ = 0;

  Mutex mutex_;  // not held while bytes are moved
  ConditionVariable released_changed_;
  ConditionVariable block_filled_;
  std::vector<int64_t> slices_to_fill_ GLOVE_GUARDED_BY(mutex_);  // of each block
  size_t next_block_ GLOVE_GUARDED_BY(mutex_) = 0;                // the next slice to read
  int64_t next_slice_ GLOVE_GUARDED_BY(mutex_) = 0;
  size_t released_ GLOVE_GUARDED_BY(mutex_) = 0;  // copied blocks, whose slots are free again
  bool stopped_ GLOVE_GUARDED_BY(mutex_) = false;
  Status error_ GLOVE_GUARDED_BY(mutex_);

  std::vector<IoThread> readers_;  // the first one starts the others
};

}  // namespace glove::gpu
