#include "loader/write_behind.h"

#include <exception>
#include <utility>

#include "base/crc32.h"

namespace glove {
namespace {

constexpr size_t kMostWrites = 8;

}  // namespace

WriteBehind::WriteBehind() {
  recycled_.reserve(kMostWrites);
  thread_.start("glove-write", [this] { run(); });
}

WriteBehind::~WriteBehind() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  queued_.notify_one();
  thread_.join();
}

Status WriteBehind::write(File& file, int64_t offset, Buffer<char>& bytes, uint32_t& crc, bool flush) {
  Write next = {&file, offset, std::exchange(bytes, {}), &crc, flush};
  if (!thread_.started()) return perform(next);
  Lock lock(mutex_);
  while (writes_.size() >= kMostWrites) written_.wait(mutex_);
  if (!status_.ok()) return status_;
  writes_.push_back(std::move(next));
  queued_.notify_one();
  if (!recycled_.empty()) {
    bytes = std::move(recycled_.back());
    recycled_.pop_back();
  }
  return {};
}

Status WriteBehind::drain() {
  Lock lock(mutex_);
  while (!writes_.empty()) written_.wait(mutex_);
  return status_;
}

// Must not throw: an exception on the thread would end the process.
Status WriteBehind::perform(const Write& next) noexcept try {
  *next.crc = crc32_continue(*next.crc, next.bytes);
  GLOVE_RETURN_IF_ERROR(next.file->write_at(next.offset, next.bytes));
  if (next.flush) next.file->start_flush(next.offset, static_cast<int64_t>(next.bytes.size()));
  return {};
} catch (const std::exception&) {
  return {ErrorCode::kOutOfMemory, "out of memory"};  // short enough not to allocate memory
}

void WriteBehind::run() {
  Lock lock(mutex_);
  while (true) {
    while (!stopping_ && writes_.empty()) queued_.wait(mutex_);
    if (stopping_) return;
    Write& next = writes_.front();
    if (status_.ok()) {
      lock.unlock();
      Status status = perform(next);
      lock.lock();
      if (!status.ok()) status_ = std::move(status);
    }
    next.bytes.clear();
    if (recycled_.size() < recycled_.capacity()) recycled_.push_back(std::move(next.bytes));
    writes_.pop_front();
    written_.notify_one();
  }
}

}  // namespace glove
