#include <array>
#include <cstdint>
#include <cwchar>
#include <vector>

#include "base/file_calls.h"
#include "base/mutex.h"
#include "base/system_calls.h"
#include "base/windows/windows.h"

namespace glove {
namespace {

// The files of this process that were renamed because they were mapped. Never freed, because models may be
// closed after static objects have been destroyed.
struct OldFiles {
  Mutex mutex;
  std::vector<std::wstring> paths GLOVE_GUARDED_BY(mutex);
};

OldFiles& old_files() {
  static OldFiles* const instance = new OldFiles;
  return *instance;
}

bool move_file(const std::wstring& from, const std::wstring& to) {
  return MoveFileExW(from.c_str(), to.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) != FALSE;
}

// A name beside `path` that no other file has: PATH.glove-0123456789abcdef.old.
std::wstring old_name(const std::wstring& path) {
  uint64_t bits = 0;
  if (!system_calls::fill_randomly(&bits, sizeof bits)) bits = GetTickCount64();
  std::array<wchar_t, 17> digits{};
  for (size_t i = 0; i < 16; ++i) digits[i] = L"0123456789abcdef"[bits >> (4 * i) & 15];
  return path + L".glove-" + digits.data() + L".old";
}

// Removes what earlier processes had to leave beside `path`, which exists.
void sweep(const std::wstring& path) {
  WIN32_FIND_DATAW found{};
  const HANDLE search = FindFirstFileW((path + L".glove-????????????????.old").c_str(), &found);
  if (search == INVALID_HANDLE_VALUE) return;
  const std::wstring folder = path.substr(0, path.find_last_of(L"/\\") + 1);
  do DeleteFileW((folder + found.cFileName).c_str());
  while (FindNextFileW(search, &found) != FALSE);
  FindClose(search);
}

}  // namespace

void windows::remove_old_files() {
  OldFiles& files = old_files();
  const Lock lock(files.mutex);
  std::erase_if(files.paths, [](const std::wstring& path) { return DeleteFileW(path.c_str()) != FALSE; });
}

bool system_calls::replace(const std::string& from, const std::string& to) {
  const std::wstring source = windows::wide_path(from), target = windows::wide_path(to);
  if (!move_file(source, target)) {
    const DWORD reason = GetLastError();
    const std::wstring old = old_name(target);
    const bool is_used = reason == ERROR_ACCESS_DENIED || reason == ERROR_SHARING_VIOLATION ||
                         reason == ERROR_USER_MAPPED_FILE;
    if (!is_used || !move_file(target, old)) {
      SetLastError(reason);
      windows::set_errno();
      return false;
    }
    if (!move_file(source, target)) {
      windows::set_errno();
      move_file(old, target);
      return false;
    }
    OldFiles& files = old_files();
    const Lock lock(files.mutex);
    files.paths.push_back(old);
  }
  windows::remove_old_files();
  sweep(target);
  return true;
}

}  // namespace glove
