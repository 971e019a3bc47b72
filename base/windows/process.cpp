#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/file.h"
#include "base/file_calls.h"
#include "base/system_calls.h"
#include "base/windows/windows.h"

namespace glove::system_calls {
namespace {

// A process that has not chosen its processors may use all groups of them.
int system_cores() {
  DWORD_PTR process = 0, system = 0;
  if (GetActiveProcessorGroupCount() == 1 &&
      GetProcessAffinityMask(GetCurrentProcess(), &process, &system) != FALSE && process != 0)
    return std::popcount(static_cast<uint64_t>(process));
  return std::max<int>(static_cast<int>(GetActiveProcessorCount(ALL_PROCESSOR_GROUPS)), 1);
}

HMODULE module_of(const void* address, DWORD flag) {
  HMODULE module = nullptr;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | flag, static_cast<const wchar_t*>(address),
                     &module);
  return module;
}

}  // namespace

int64_t process_number() {
  return GetCurrentProcessId();
}

void at_fork(void (* /*before*/)(), void (* /*in_parent*/)(), void (* /*in_child*/)()) {}

uint32_t thread_number() {
  return GetCurrentThreadId();
}

std::string library_of(const void* address) {
  std::wstring path(32768, L'\0');
  const HMODULE module = module_of(address, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT);
  path.resize(GetModuleFileNameW(module, path.data(), static_cast<DWORD>(path.size())));
  return windows::narrow(path);
}

Result<void*> library_function(const std::string& path, const char* function) {
  const bool is_name = path.find_first_of(kPathSeparators) == std::string::npos;
  const HMODULE loaded = LoadLibraryExW(windows::wide_path(path).c_str(), nullptr,
                                        is_name ? LOAD_LIBRARY_SEARCH_DEFAULT_DIRS : 0);
  const auto address = loaded == nullptr ? nullptr : GetProcAddress(loaded, function);
  if (address != nullptr) return reinterpret_cast<void*>(address);
  windows::set_errno();
  return system_error("load the library", path);
}

// The C++ library does not tell the handle of a thread.
SignalMask block_signals() {
  return {};
}

void restore_signals(const SignalMask& /*mask*/) {}

// Asking the system takes a message to another process under wine, and queries ask often.
int usable_cores() {
  static std::atomic<uint64_t> last{0};  // when it was asked, in seconds from 1, and the answer
  const uint64_t second = GetTickCount64() / 1000 + 1;
  uint64_t known = last.load(std::memory_order_relaxed);
  if (known >> 32 != second) {
    known = second << 32 | static_cast<uint64_t>(system_cores());
    last.store(known, std::memory_order_relaxed);
  }
  return static_cast<int>(known & UINT32_MAX);
}

// Windows would save the registers (EnableProcessOptionalXStateFeatures), but no test has run the kernels
// there.
bool fill_randomly(void* buffer, size_t bytes) {
  unsigned value = 0;
  for (size_t done = 0; done < bytes; done += sizeof value) {
    if (rand_s(&value) != 0) return false;
    std::memcpy(static_cast<char*>(buffer) + done, &value, std::min(sizeof value, bytes - done));
  }
  return true;
}

void keep_mapped(const void* address) {
  module_of(address, GET_MODULE_HANDLE_EX_FLAG_PIN);
}

}  // namespace glove::system_calls
