#include <cerrno>
#include <iterator>
#include <string>

#include "base/windows/windows.h"

namespace glove::windows {
namespace {

struct Code {
  DWORD windows;
  int posix;
};

constexpr Code kCodes[] = {
    {ERROR_FILE_NOT_FOUND, ENOENT},    {ERROR_PATH_NOT_FOUND, ENOENT},
    {ERROR_BAD_NETPATH, ENOENT},       {ERROR_BAD_NET_NAME, ENOENT},
    {ERROR_INVALID_NAME, ENOENT},      {ERROR_INVALID_DRIVE, ENOENT},
    {ERROR_ACCESS_DENIED, EACCES},     {ERROR_WRITE_PROTECT, EROFS},
    {ERROR_SHARING_VIOLATION, EBUSY},  {ERROR_LOCK_VIOLATION, EBUSY},
    {ERROR_USER_MAPPED_FILE, EBUSY},   {ERROR_FILE_EXISTS, EEXIST},
    {ERROR_ALREADY_EXISTS, EEXIST},    {ERROR_DISK_FULL, ENOSPC},
    {ERROR_HANDLE_DISK_FULL, ENOSPC},  {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
    {ERROR_NOT_ENOUGH_MEMORY, ENOMEM}, {ERROR_OUTOFMEMORY, ENOMEM},
    {ERROR_COMMITMENT_LIMIT, ENOMEM},  {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    {ERROR_INVALID_PARAMETER, EINVAL}, {ERROR_FILE_TOO_LARGE, EFBIG},
    {ERROR_NOT_SUPPORTED, ENOSYS},     {ERROR_MOD_NOT_FOUND, ENOENT},
    {ERROR_PROC_NOT_FOUND, ENOSYS},
};

}  // namespace

std::wstring wide(std::string_view text) {
  const auto bytes = static_cast<int>(text.size());
  const int count = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), bytes, nullptr, 0);
  std::wstring converted(static_cast<size_t>(count), L'\0');
  MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), bytes, converted.data(), count);
  return converted;
}

std::string narrow(std::wstring_view text) {
  const auto units = static_cast<int>(text.size());
  const int count = WideCharToMultiByte(CP_UTF8, 0, text.data(), units, nullptr, 0, nullptr, nullptr);
  std::string converted(static_cast<size_t>(count), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), units, converted.data(), count, nullptr, nullptr);
  return converted;
}

// Paths of MAX_PATH and more must be absolute and begin with "\\?\". The limit for folders is 12 less.
std::wstring wide_path(const std::string& path) {
  std::wstring converted = wide(path);
  if (converted.size() < MAX_PATH - 12 || converted.starts_with(L"\\\\?\\")) return converted;
  std::wstring full(32768, L'\0');
  const DWORD units =
      GetFullPathNameW(converted.c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr);
  if (units == 0 || units >= full.size()) return converted;
  full.resize(units);
  return full.starts_with(L"\\\\") ? L"\\\\?\\UNC" + full.substr(1) : L"\\\\?\\" + full;
}

void set_errno() {
  const DWORD last = GetLastError();
  errno = EIO;
  for (const Code& code : kCodes)
    if (code.windows == last) errno = code.posix;
}

}  // namespace glove::windows
