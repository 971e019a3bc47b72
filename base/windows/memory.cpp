#include <atomic>
#include <thread>

#include "base/system_calls.h"
#include "base/windows/windows.h"

namespace glove::system_calls {
namespace {

std::atomic<PageRepair> g_repair{nullptr};
std::atomic<bool> g_replacing{false};  // a thread is inside map_zeros(), which may leave a gap for a moment

bool is_own_memory(uintptr_t address) {
  MEMORY_BASIC_INFORMATION info{};
  return VirtualQuery(reinterpret_cast<const void*>(address), &info, sizeof info) != 0 &&
         info.Type == MEM_PRIVATE && info.State == MEM_COMMIT;
}

// A mutex might be held by the code that was interrupted.
class Replacing {
 public:
  Replacing() {
    while (g_replacing.exchange(true, std::memory_order_acquire)) SwitchToThread();
  }
  ~Replacing() { g_replacing.store(false, std::memory_order_release); }
  Replacing(const Replacing&) = delete;
  Replacing& operator=(const Replacing&) = delete;
};

// A page of a map cannot be read, or another thread has met the gap that map_zeros() leaves for a moment.
LONG CALLBACK on_exception(EXCEPTION_POINTERS* exception) {
  constexpr ULONG_PTR kRead = 0;
  const EXCEPTION_RECORD& record = *exception->ExceptionRecord;
  const bool is_page_error = record.ExceptionCode == EXCEPTION_IN_PAGE_ERROR;
  if ((!is_page_error && record.ExceptionCode != EXCEPTION_ACCESS_VIOLATION) || record.NumberParameters < 2 ||
      record.ExceptionInformation[0] != kRead)
    return EXCEPTION_CONTINUE_SEARCH;
  const uintptr_t address = record.ExceptionInformation[1];
  if (!is_page_error) {
    const Replacing waited;
    if (!is_own_memory(address)) return EXCEPTION_CONTINUE_SEARCH;
  }
  const PageRepair repair = g_repair.load(std::memory_order_acquire);
  return repair != nullptr && repair(address) ? EXCEPTION_CONTINUE_EXECUTION : EXCEPTION_CONTINUE_SEARCH;
}

}  // namespace

void advise_huge_pages(void* /*address*/, size_t /*bytes*/) {}

void advise_access(const void* /*address*/, size_t /*bytes*/, Access /*access*/) {}

void* map_file(int descriptor, size_t bytes) {
  const HANDLE file = reinterpret_cast<HANDLE>(static_cast<intptr_t>(descriptor));
  const HANDLE mapping = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
  void* const address = mapping != nullptr ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, bytes) : nullptr;
  if (address == nullptr) windows::set_errno();
  if (mapping != nullptr) CloseHandle(mapping);
  return address;
}

void unmap_file(void* address, size_t /*bytes*/) {
  if (is_own_memory(reinterpret_cast<uintptr_t>(address))) {
    VirtualFree(address, 0, MEM_RELEASE);
  } else {
    UnmapViewOfFile(address);
  }
  windows::remove_old_files();
}

void handle_page_errors(PageRepair repair) {
  constexpr ULONG kFirst = 1;
  if (g_repair.exchange(repair, std::memory_order_acq_rel) == nullptr)
    AddVectoredExceptionHandler(kFirst, on_exception);
}

// The whole view, because Windows has no way to replace one of its pages.
bool map_zeros(uintptr_t address, uintptr_t begin, uintptr_t end) {
  const Replacing lock;
  if (is_own_memory(address)) return true;  // another thread has done it
  void* const view = reinterpret_cast<void*>(begin);
  return UnmapViewOfFile(view) != FALSE &&
         VirtualAlloc(view, end - begin, MEM_RESERVE | MEM_COMMIT, PAGE_READONLY) != nullptr;
}

}  // namespace glove::system_calls
