#include "model/mapped_file.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "base/concat.h"
#include "base/crc32.h"
#include "base/mutex.h"
#include "base/system_calls.h"

namespace glove {
namespace {

// The handler's view of the maps. It is lock-free, because the handler interrupts a load in any thread. A
// slot is claimed under g_table_mutex; its range is published by storing `begin` last, and withdrawn by first
// storing 0.
struct GuardedRange {
  std::atomic<uintptr_t> begin{0};  // 0 if free
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> failed{false};
};
constexpr int kMaxRanges = 1024;
GuardedRange g_ranges[kMaxRanges];
ForkSafeMutex g_table_mutex;
struct sigaction g_previous_action;

void call_previous(int number, siginfo_t* info, void* context) {
  if ((g_previous_action.sa_flags & SA_SIGINFO) != 0) {
    g_previous_action.sa_sigaction(number, info, context);
  } else if (g_previous_action.sa_handler != SIG_DFL && g_previous_action.sa_handler != SIG_IGN) {
    g_previous_action.sa_handler(number);
  } else {
    // Restores the default: the access is repeated on return and ends the process as it would have without
    // us.
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
    if (info->si_code <= 0) ::raise(number);  // sent by kill(), so no access will be repeated
  }
}

bool put_zero_page(uintptr_t address) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  return system_calls::map_zero_page(address / page * page, page);
}

void on_bus_error(int number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (GuardedRange& range : g_ranges) {
    const uintptr_t begin = range.begin.load(std::memory_order_acquire);
    if (begin == 0 || info->si_code <= 0 || address < begin ||
        address >= range.end.load(std::memory_order_relaxed))
      continue;
    if (!put_zero_page(address)) break;
    range.failed.store(true, std::memory_order_release);
    errno = saved_errno;
    return;
  }
  errno = saved_errno;
  call_previous(number, info, context);
}

// Called once per process, and again if the default was restored. A handler that others install later is left
// in place; it is responsible for calling ours.
void install_handler() {
  struct sigaction current {};
  ::sigaction(SIGBUS, nullptr, &current);
  const bool ours = (current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == on_bus_error;
  static bool installed = false;
  const bool is_default = (current.sa_flags & SA_SIGINFO) == 0 && current.sa_handler == SIG_DFL;
  if (ours || (installed && !is_default)) return;
  g_previous_action = current;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
  installed = true;
}

int guard(const void* address, size_t bytes) {
  const Lock lock(g_table_mutex);
  install_handler();
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

void MappedFile::Times::store(const struct stat& info) {
  modified = system_calls::modified_at(info);
  changed = system_calls::changed_at(info);
  names = static_cast<int64_t>(info.st_nlink);
}

bool MappedFile::Times::equal(const struct stat& info) const {
  return modified == system_calls::modified_at(info) && changed == system_calls::changed_at(info) &&
         names == static_cast<int64_t>(info.st_nlink);
}

Result<std::shared_ptr<MappedFile>> MappedFile::map(std::string path, std::shared_ptr<const File> file) {
  struct stat info {};
  if (::fstat(file->descriptor(), &info) != 0) return system_error("examine", path);
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  const auto bytes = static_cast<size_t>(info.st_size);
  void* const address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file->descriptor(), 0);
  if (address == MAP_FAILED) return system_error("map", path);
  mapped->address_ = address;
  mapped->bytes_ = bytes;
  mapped->good_.store(info);
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
  if (address_ != nullptr) ::munmap(address_, bytes_);
}

std::optional<int64_t> MappedFile::offset_of(std::span<const std::byte> bytes) const {
  const auto base = reinterpret_cast<uintptr_t>(address_);
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  if (begin < base || begin - base > bytes_ || bytes.size() > bytes_ - (begin - base)) return std::nullopt;
  return static_cast<int64_t>(begin - base);
}

// Adding or removing a link also changes the time of the last change, for example when a file is replaced by
// a rename. The content need not be read again because of that.
bool MappedFile::may_have_been_written(const struct stat& info) const {
  if (system_calls::modified_at(info) != good_.modified) return true;
  return !content_.empty() && system_calls::changed_at(info) != good_.changed &&
         static_cast<int64_t>(info.st_nlink) == good_.names;
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
  struct stat info {};
  if (::fstat(file_->descriptor(), &info) != 0) return system_error("examine", path_);
  if (static_cast<size_t>(info.st_size) != bytes_)
    return changed(concat("went from ", bytes_, " to ", info.st_size, " bytes"));
  if (slot_ >= 0 && g_ranges[slot_].failed.load(std::memory_order_acquire))
    return changed("could not be read in part");
  if (good_.equal(info)) return {};
  if (may_have_been_written(info)) {
    if (bad_.equal(info)) return changed("was written to");
    GLOVE_ASSIGN_OR_RETURN(const bool good, has_good_content(interrupted));
    // A write during the read has changed the times again, so the next call reads the content again.
    struct stat after {};
    const bool stayed = ::fstat(file_->descriptor(), &after) == 0 &&
                        system_calls::changed_at(after) == system_calls::changed_at(info) &&
                        system_calls::modified_at(after) == system_calls::modified_at(info);
    if (!good && stayed) bad_.store(info);
    if (!good || !stayed) return changed("was written to");
  }
  good_.store(info);
  return {};
}

}  // namespace glove
