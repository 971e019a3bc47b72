// Moving bytes from files or memory to a device: threads read ahead, and the caller's thread copies.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/io_thread.h"
#include "base/status.h"
#include "gpu/device.h"

namespace glove::gpu {

// Bytes that go to the device: from `memory` if it is not null, else from the open file `descriptor` at
// `offset`.
struct CopyTask {
  const std::byte* memory = nullptr;
  int descriptor = -1;
  int64_t offset = 0;
  int64_t device_offset = 0;  // in the block of device memory that copy_to() gets
  int64_t bytes = 0;
};

// How many threads an upload reads with on this machine.
int upload_threads();

// One upload. Reading begins before there is device memory to copy to, for allocating that takes about as
// long as filling the staging memory. A block is filled in slices by whatever thread is free and copied in
// one piece, since each copy costs the bus 2 us beside its bytes.
class Upload {
 public:
  // Starts up to `threads` threads that read; fewer, and even none, will do. `path` is for messages;
  // `cancelled` stops the upload early with kInterrupted. The device and `cancelled` outlive the upload.
  // Fails if there is no staging memory.
  static Result<std::unique_ptr<Upload>> start(Device& device, std::vector<CopyTask> tasks, int threads,
                                               std::string path, const std::atomic<bool>& cancelled);

  // Stops reading, and waits for the threads and for what is being copied.
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  // Copies all tasks; everything is there when it returns ok, and no copy is on its way when it fails. A file
  // that ends too soon is kIo. `interrupted` is asked every 2 ms or more often, with no lock held. Called
  // once at most.
  Status copy_to(std::byte* device_block, const InterruptCheck& interrupted = {});

 private:
  struct Block {
    size_t task;
    int64_t begin;  // in the task
    int64_t bytes;
    int64_t slices_to_fill;
  };

  Upload(Device& device, std::unique_ptr<CopyRing> ring, std::vector<CopyTask> tasks, std::string path,
         const std::atomic<bool>& cancelled);
  void start_threads(int threads);
  void read_ahead();
  void read_slice(std::unique_lock<std::mutex>& lock);
  Status fill(const Block& block, int64_t begin, int64_t bytes, std::byte* out) const;
  Status wait_until_filled(size_t index, const InterruptCheck& interrupted);
  Status copy_blocks(std::byte* device_block, const InterruptCheck& interrupted);
  Status wait_for_copies();
  void release(size_t blocks);
  void stop();
  int slot_of(size_t index) const { return static_cast<int>(index % static_cast<size_t>(ring_->slots())); }

  Device& device_;
  std::unique_ptr<CopyRing> ring_;
  const std::vector<CopyTask> tasks_;
  const std::string path_;
  const std::atomic<bool>& cancelled_;
  int64_t slice_bytes_ = 0;

  std::mutex mutex_;  // guards what follows; not held while bytes move
  std::condition_variable released_changed_;
  std::condition_variable block_filled_;
  std::vector<Block> blocks_;
  size_t next_block_ = 0;  // the next slice to read
  int64_t next_slice_ = 0;
  size_t released_ = 0;  // blocks that have been copied, so that their slots are free
  bool stopped_ = false;
  Status error_;

  std::vector<IoThread> readers_;  // the first starts the others
};

}  // namespace glove::gpu
