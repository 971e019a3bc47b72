#include "model/mapped_file.h"

#include <algorithm>

#include "base/concat.h"
#include "base/crc32.h"
#include "base/mutex.h"
#include "base/system_calls.h"

namespace glove {
namespace {

// The handler's view of the maps. It is lock-free, because the handler interrupts a load in any thread. A
// slot is claimed under table_mutex(); its range is published by storing `begin` last, and withdrawn by first
// storing 0.
struct GuardedRange {
  std::atomic<uintptr_t> begin{0};  // 0 if free
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> failed{false};
};
constexpr int kMaxRanges = 1024;
GuardedRange g_ranges[kMaxRanges];

// Made at its first use, because it takes memory, and loading a library must not throw.
ForkSafeMutex& table_mutex() {
  static auto* const mutex = new ForkSafeMutex;
  return *mutex;
}

// Runs in the middle of any function of any thread.
bool repair_page(uintptr_t address) {
  for (GuardedRange& range : g_ranges) {
    const uintptr_t begin = range.begin.load(std::memory_order_acquire);
    const uintptr_t end = range.end.load(std::memory_order_relaxed);
    if (begin == 0 || address < begin || address >= end) continue;
    if (!system_calls::map_zeros(address, begin, end)) return false;
    range.failed.store(true, std::memory_order_release);
    return true;
  }
  return false;
}

int guard(const void* address, size_t bytes) {
  const Lock lock(table_mutex());
  system_calls::handle_page_errors(repair_page);
  for (int slot = 0; slot < kMaxRanges; ++slot) {
    GuardedRange& range = g_ranges[slot];
    if (range.begin.load(std::memory_order_relaxed) != 0) continue;
    range.failed.store(false, std::memory_order_relaxed);
    const auto begin = reinterpret_cast<uintptr_t>(address);
    range.end.store(begin + bytes, std::memory_order_relaxed);
    range.begin.store(begin, std::memory_order_release);
    return slot;
  }
  return -1;
}

}  // namespace

void MappedFile::Times::store(const system_calls::FileStatus& status) {
  modified = status.modified;
  changed = status.changed;
  names = status.names;
}

bool MappedFile::Times::equal(const system_calls::FileStatus& status) const {
  return modified == status.modified && changed == status.changed && names == status.names;
}

Result<std::shared_ptr<MappedFile>> MappedFile::map(std::string path, std::shared_ptr<const File> file) {
  const auto status = system_calls::status_of(file->descriptor());
  if (!status) return system_error("examine", path);
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  const auto bytes = static_cast<size_t>(status->bytes);
  void* const address = system_calls::map_file(file->descriptor(), bytes);
  if (address == nullptr) return system_error("map", path);
  mapped->address_ = address;
  mapped->bytes_ = bytes;
  mapped->good_.store(*status);
  mapped->path_ = std::move(path);
  mapped->file_ = std::move(file);
  mapped->slot_ = guard(address, bytes);
  if (mapped->slot_ < 0)
    return Error{ErrorCode::kUnavailable, concat("cannot map '", mapped->path_, "': ", kMaxRanges,
                                                 " models are mapped already; unload one")};
  return mapped;
}

MappedFile::~MappedFile() {
  if (slot_ >= 0) g_ranges[slot_].begin.store(0, std::memory_order_release);
  if (address_ != nullptr) system_calls::unmap_file(address_, bytes_);
}

std::optional<int64_t> MappedFile::offset_of(std::span<const std::byte> bytes) const {
  const auto base = reinterpret_cast<uintptr_t>(address_);
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  if (begin < base || begin - base > bytes_ || bytes.size() > bytes_ - (begin - base)) return std::nullopt;
  return static_cast<int64_t>(begin - base);
}

// Adding or removing a link also changes the time of the last change, for example when a file is replaced by
// a rename. The content need not be read again because of that.
bool MappedFile::may_have_been_written(const system_calls::FileStatus& now) const {
  if (now.modified != good_.modified) return true;
  return !content_.empty() && now.changed != good_.changed && now.names == good_.names;
}

Result<bool> MappedFile::has_good_content(const InterruptCheck& interrupted) const {
  if (content_.empty()) return false;
  InterruptPoll poll(interrupted);
  std::vector<char> buffer(size_t{1} << 20);
  for (const Content& content : content_) {
    uint32_t crc = 0;
    for (int64_t done = 0; done < content.bytes;) {
      GLOVE_RETURN_IF_ERROR(poll.check());
      const auto count = std::min<int64_t>(content.bytes - done, static_cast<int64_t>(buffer.size()));
      const std::span<char> bytes(buffer.data(), static_cast<size_t>(count));
      const auto got = file_->read_at(content.offset + done, bytes);
      if (!got.ok() || got.value() < bytes.size()) return false;
      crc = crc32_continue(crc, bytes);
      done += count;
    }
    if (crc != content.crc) return false;
  }
  return true;
}

Status MappedFile::health(const InterruptCheck& interrupted) const {
  const auto changed = [this](const std::string& what) {
    return Status(ErrorCode::kIo,
                  "the model file '" + path_ + "' " + what + " while it was loaded; load it again");
  };
  const auto now = system_calls::status_of(file_->descriptor());
  if (!now) return system_error("examine", path_);
  if (static_cast<size_t>(now->bytes) != bytes_)
    return changed(concat("went from ", bytes_, " to ", now->bytes, " bytes"));
  if (slot_ >= 0 && g_ranges[slot_].failed.load(std::memory_order_acquire))
    return changed("could not be read in part");
  if (good_.equal(*now)) return {};
  if (may_have_been_written(*now)) {
    if (bad_.equal(*now)) return changed("was written to");
    GLOVE_ASSIGN_OR_RETURN(const bool good, has_good_content(interrupted));
    // A write during the read has changed the times again, so the next call reads the content again.
    const auto after = system_calls::status_of(file_->descriptor());
    const bool stayed = after && after->changed == now->changed && after->modified == now->modified;
    if (!good && stayed) bad_.store(*now);
    if (!good || !stayed) return changed("was written to");
  }
  good_.store(*now);
  return {};
}

}  // namespace glove
