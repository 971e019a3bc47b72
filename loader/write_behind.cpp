#include "loader/write_behind.h"

#include <exception>
#include <utility>

#include "base/crc32.h"

namespace glove {
namespace {

constexpr size_t kMostPieces = 8;

}  // namespace

WriteBehind::WriteBehind() {
  recycled_.reserve(kMostPieces);
  thread_.start("glove-write", [this] { run(); });
}

WriteBehind::~WriteBehind() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  queued_.notify_one();
  thread_.join();
}

Status WriteBehind::write(File& file, int64_t offset, Buffer<char>& bytes, uint32_t& crc, bool flush) {
  Piece piece = {&file, offset, std::exchange(bytes, {}), &crc, flush};
  if (!thread_.started()) return perform(piece);
  std::unique_lock lock(mutex_);
  written_.wait(lock, [this] { return pieces_.size() < kMostPieces; });
  if (!status_.ok()) return status_;
  pieces_.push_back(std::move(piece));
  queued_.notify_one();
  if (!recycled_.empty()) {
    bytes = std::move(recycled_.back());
    recycled_.pop_back();
  }
  return {};
}

Status WriteBehind::drain() {
  std::unique_lock lock(mutex_);
  written_.wait(lock, [this] { return pieces_.empty(); });
  return status_;
}

// Nothing is thrown: on the thread it would end the process.
Status WriteBehind::perform(const Piece& piece) noexcept try {
  *piece.crc = crc32_continue(*piece.crc, piece.bytes);
  GLOVE_RETURN_IF_ERROR(piece.file->write_at(piece.offset, piece.bytes));
  if (piece.flush) piece.file->start_flush(piece.offset, static_cast<int64_t>(piece.bytes.size()));
  return {};
} catch (const std::exception&) {
  return {ErrorCode::kOutOfMemory, "out of memory"};  // short enough to need none
}

void WriteBehind::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    queued_.wait(lock, [this] { return stopping_ || !pieces_.empty(); });
    if (stopping_) return;
    Piece& piece = pieces_.front();
    if (status_.ok()) {
      lock.unlock();
      Status status = perform(piece);
      lock.lock();
      if (!status.ok()) status_ = std::move(status);
    }
    piece.bytes.clear();
    if (recycled_.size() < recycled_.capacity()) recycled_.push_back(std::move(piece.bytes));
    pieces_.pop_front();
    written_.notify_one();
  }
}

}  // namespace glove
