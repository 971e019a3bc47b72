#include "gpu/residency/upload.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "base/require.h"
#include "base/thread_pool.h"

namespace glove::gpu {
namespace {

constexpr int64_t kSlicesPerBlock = 32;
// The first block is an eighth of a whole one, so that copying starts soon.
constexpr int64_t kFirstBlockDivisor = 8;

// For a message: says where a file ends that has no data at `position`.
std::string ends_too_soon(int descriptor, int64_t position) {
  struct stat file;
  const bool known = fstat(descriptor, &file) == 0 && file.st_size < position;
  return ": the file ends at byte " + std::to_string(known ? int64_t{file.st_size} : position) +
         ", before the end of its arrays; was it truncated?";
}

}  // namespace

int upload_threads() {
  // A core reads 4 to 6 GB/s, and more than twelve do not use the bus any better.
  return std::clamp(usable_cores() - 2, 2, 12);
}

Result<std::unique_ptr<Upload>> Upload::start(Device& device, std::vector<CopyTask> tasks, int threads,
                                              std::string path, const std::atomic<bool>& cancelled) {
  GLOVE_ASSIGN_OR_RETURN(auto ring, device.take_ring());
  std::unique_ptr<Upload> upload(new Upload(std::move(ring), std::move(tasks), std::move(path), cancelled));
  upload->start_threads(threads);
  return upload;
}

Upload::Upload(std::shared_ptr<CopyRing> ring, std::vector<CopyTask> tasks, std::string path,
               const std::atomic<bool>& cancelled)
    : ring_(std::move(ring)), tasks_(std::move(tasks)), path_(std::move(path)), cancelled_(cancelled) {
  const auto block_bytes = static_cast<int64_t>(ring_->block(0).size());
  slice_bytes_ = std::max<int64_t>(1, block_bytes / kSlicesPerBlock);
  int64_t limit = std::max<int64_t>(1, block_bytes / kFirstBlockDivisor);
  for (size_t task = 0; task < tasks_.size(); ++task) {
    for (int64_t begin = 0; begin < tasks_[task].bytes; begin += blocks_.back().bytes) {
      const int64_t bytes = std::min(limit, tasks_[task].bytes - begin);
      blocks_.push_back({task, begin, bytes});
      slices_to_fill_.push_back((bytes + slice_bytes_ - 1) / slice_bytes_);
      limit = std::min(block_bytes, 2 * limit);
    }
  }
}

Upload::~Upload() {
  stop_reading();
  static_cast<void>(ring_->wait_for_all());
}

void Upload::start_threads(int threads) {
  readers_ = std::vector<IoThread>(static_cast<size_t>(std::max(threads, 0)));
  const auto start = [this](size_t reader, std::function<void()> body) {
    return readers_[reader].start("glove-upload", std::move(body));
  };
  if (threads < 1) return;
  // If no thread can be started, copy_to() reads alone.
  start(0, [this, start] {
    for (size_t i = 1; i < readers_.size() && start(i, [this] { read_ahead(); });) ++i;
    read_ahead();
  });
}

// The body of each reading thread.
void Upload::read_ahead() {
  Lock lock(mutex_);
  while (true) {
    if (stopped_ || next_block_ == blocks_.size()) return;
    if (next_block_ >= released_ + static_cast<size_t>(ring_->slots())) {
      released_changed_.wait(mutex_);
      continue;
    }
    read_slice();
  }
}

// Takes the next slice and fills it. Releases the mutex while bytes are moved. REQUIRES: there is a next
// slice, and its block's slot is free.
void Upload::read_slice() {
  GLOVE_REQUIRE(next_block_ < blocks_.size());
  const size_t index = next_block_;
  const Block block = blocks_[index];
  const int64_t begin = next_slice_ * slice_bytes_;
  const int64_t bytes = std::min(slice_bytes_, block.bytes - begin);
  if (begin + bytes == block.bytes) {
    ++next_block_;
    next_slice_ = 0;
  } else {
    ++next_slice_;
  }
  mutex_.unlock();
  Status status;
  try {
    status = fill(block, begin, bytes, ring_->block(slot_of(index)).data() + begin);
  } catch (const std::bad_alloc&) {  // while formatting an error
    status = {ErrorCode::kOutOfMemory, "out of memory"};
  }
  mutex_.lock();
  if (!status.ok()) {
    if (error_.ok()) error_ = std::move(status);
    stopped_ = true;
    released_changed_.notify_all();
  }
  if (--slices_to_fill_[index] == 0 || stopped_) block_filled_.notify_all();
}

// Reads or copies a part of a block.
Status Upload::fill(const Block& block, int64_t begin, int64_t bytes, std::byte* out) const {
  const CopyTask& task = tasks_[block.task];
  if (task.memory != nullptr) {
    std::memcpy(out, task.memory + block.begin + begin, static_cast<size_t>(bytes));
    return {};
  }
  int64_t position = task.offset + block.begin + begin;
  const int64_t end = position + bytes;
  while (position < end) {
    const ssize_t got =
        pread(task.descriptor, out, static_cast<size_t>(end - position), static_cast<off_t>(position));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return {ErrorCode::kIo, path_ + ": reading at byte " + std::to_string(position) +
                                  " failed: " + std::generic_category().message(errno)};
    if (got == 0) return {ErrorCode::kIo, path_ + ends_too_soon(task.descriptor, position)};
    position += got;
    out += got;
  }
  return {};
}

// Waits until a block is filled, and fills it itself if no other thread does.
Status Upload::wait_until_filled(size_t index, const InterruptCheck& interrupted) {
  Lock lock(mutex_);
  while (true) {
    if (!error_.ok()) return error_;
    if (cancelled_) return interrupted_error();
    if (interrupted) {
      lock.unlock();
      if (interrupted()) return interrupted_error();
      lock.lock();
    }
    if (slices_to_fill_[index] == 0) return {};
    if (next_block_ == index)
      read_slice();
    else
      block_filled_.wait_for(mutex_, InterruptPoll::kInterval);
  }
}

// Marks the first `blocks` blocks as copied, so that others may use their slots.
void Upload::release(size_t blocks) {
  {
    const Lock lock(mutex_);
    released_ = blocks;
  }
  released_changed_.notify_all();
}

// Ends the reading threads. Afterwards no file is being read.
void Upload::stop_reading() {
  {
    const Lock lock(mutex_);
    stopped_ = true;
  }
  released_changed_.notify_all();
  if (!readers_.empty()) readers_.front().join();  // the only thread that starts others
  readers_.clear();
}

// While one block is being copied, the next one is queued, so that the bus is never idle.
Status Upload::copy_blocks(std::byte* device_block, const InterruptCheck& interrupted) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    GLOVE_RETURN_IF_ERROR(wait_until_filled(i, interrupted));
    const CopyTask& task = tasks_[blocks_[i].task];
    GLOVE_RETURN_IF_ERROR(
        ring_->copy(slot_of(i), device_block + task.device_offset + blocks_[i].begin, blocks_[i].bytes));
    if (i == 0) continue;
    GLOVE_RETURN_IF_ERROR(ring_->wait(slot_of(i - 1)));
    release(i);
  }
  return {};
}

Status Upload::copy_to(std::byte* device_block, const InterruptCheck& interrupted) {
  Status status = copy_blocks(device_block, interrupted);
  stop_reading();
  Status copied = ring_->wait_for_all();
  return status.ok() ? std::move(copied) : std::move(status);
}

}  // namespace glove::gpu
