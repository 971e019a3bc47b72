#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/file_calls.h"
#include "base/system_calls.h"
#include "base/windows/windows.h"

// A descriptor is a handle, of which Windows uses 32 bits.
namespace glove::system_calls {
namespace {

using windows::set_errno;
using windows::wide_path;

constexpr size_t kMostPerCall = size_t{1} << 30;

HANDLE handle_of(int descriptor) {
  return reinterpret_cast<HANDLE>(static_cast<intptr_t>(descriptor));
}

// Others may read, write, rename and delete the file meanwhile, as on other systems.
int open_file(const std::string& path, DWORD access, DWORD disposition, DWORD flags) {
  const HANDLE handle =
      CreateFileW(wide_path(path).c_str(), access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                  nullptr, disposition, flags, nullptr);
  if (handle != INVALID_HANDLE_VALUE) return static_cast<int>(reinterpret_cast<intptr_t>(handle));
  set_errno();
  return -1;
}

// Whether a call succeeded; if not, errno says why.
bool succeeded(BOOL result) {
  if (result == FALSE) set_errno();
  return result != FALSE;
}

// Windows counts units of 100 ns since 1601.
int64_t nanoseconds(int64_t time) {
  constexpr int64_t kFrom1601To1970 = 116'444'736'000'000'000;
  return (time - kFrom1601To1970) * 100;
}

OVERLAPPED at_offset(int64_t offset) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return place;
}

}  // namespace

const std::string_view kPathSeparators = "/\\";

size_t root_bytes(std::string_view path) {
  const auto separates = [&path](size_t at) {
    return at < path.size() && kPathSeparators.find(path[at]) != std::string_view::npos;
  };
  if (separates(0)) return 1;
  return path.size() >= 3 && path[1] == ':' && separates(2) ? 3 : 0;
}

std::optional<FileStatus> status_of(const std::string& path) {
  const int descriptor = open_file(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
  if (descriptor < 0) return std::nullopt;
  auto status = status_of(descriptor);
  BY_HANDLE_FILE_INFORMATION info{};
  if (status && GetFileInformationByHandle(handle_of(descriptor), &info) != FALSE) {
    status->device = info.dwVolumeSerialNumber;
    status->number = uint64_t{info.nFileIndexHigh} << 32 | info.nFileIndexLow;
  }
  close(descriptor);
  return status;
}

// Without asking for the volume, because every search calls this.
std::optional<FileStatus> status_of(int descriptor) {
  FileStatus status;
  const HANDLE handle = handle_of(descriptor);
  FILE_STANDARD_INFO info{};
  FILE_BASIC_INFO times{};
  if (GetFileInformationByHandleEx(handle, FileStandardInfo, &info, sizeof info) == FALSE ||
      GetFileInformationByHandleEx(handle, FileBasicInfo, &times, sizeof times) == FALSE) {
    set_errno();
    const DWORD type = GetFileType(handle);
    if (type == FILE_TYPE_DISK) return std::nullopt;
    if (type == FILE_TYPE_PIPE) status.kind = FileStatus::Kind::kPipe;
    return status;
  }
  status.kind = info.Directory != FALSE ? FileStatus::Kind::kDirectory : FileStatus::Kind::kRegular;
  status.bytes = info.EndOfFile.QuadPart;
  status.modified = nanoseconds(times.LastWriteTime.QuadPart);
  status.changed = nanoseconds(times.ChangeTime.QuadPart);
  status.names = info.NumberOfLinks;
  return status;
}

bool is_readable(const std::string& path) {
  const int descriptor = open_file(path, GENERIC_READ, OPEN_EXISTING, 0);
  if (descriptor >= 0) close(descriptor);
  return descriptor >= 0;
}

bool is_link(const std::string& path) {
  const DWORD attributes = GetFileAttributesW(wide_path(path).c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
}

std::optional<std::string> resolved_path(const std::string& path) {
  const int descriptor = open_file(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
  if (descriptor < 0) return std::nullopt;
  std::wstring final(32768, L'\0');
  const DWORD units = GetFinalPathNameByHandleW(handle_of(descriptor), final.data(),
                                                static_cast<DWORD>(final.size()), FILE_NAME_NORMALIZED);
  if (units == 0 || units >= final.size()) set_errno();
  close(descriptor);
  if (units == 0 || units >= final.size()) return std::nullopt;
  final.resize(units);
  if (final.starts_with(L"\\\\?\\UNC\\")) return windows::narrow(L"\\" + final.substr(7));
  return windows::narrow(final.starts_with(L"\\\\?\\") ? final.substr(4) : final);
}

std::string temporary_folder() {
  wchar_t folder[MAX_PATH + 2];
  const DWORD units = GetTempPathW(MAX_PATH + 2, folder);
  std::string path = windows::narrow({folder, units});
  while (path.size() > std::max<size_t>(root_bytes(path), 1) && path.ends_with('\\')) path.pop_back();
  return path;
}

std::optional<std::string> environment(const char* name) {
  const std::wstring variable = windows::wide(name);
  std::wstring value(32768, L'\0');
  const DWORD units =
      GetEnvironmentVariableW(variable.c_str(), value.data(), static_cast<DWORD>(value.size()));
  if (units == 0 || units >= value.size()) return std::nullopt;
  return windows::narrow({value.data(), units});
}

std::string error_text(int error) {
  if (error == EBUSY) return "another program uses it; close that program, or choose another path";
  return std::strerror(error);
}

// Folders are opened, too, so that the caller can say what is wrong.
int open_for_reading(const std::string& path) {
  return open_file(path, GENERIC_READ, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
}

int create_new(const std::string& path, mode_t /*mode*/) {
  return open_file(path, GENERIC_READ | GENERIC_WRITE | DELETE, CREATE_NEW, FILE_ATTRIBUTE_NORMAL);
}

void close(int descriptor) {
  CloseHandle(handle_of(descriptor));
}

int64_t read_at(int descriptor, void* into, size_t bytes, int64_t offset) {
  OVERLAPPED place = at_offset(offset);
  DWORD count = 0;
  if (ReadFile(handle_of(descriptor), into, static_cast<DWORD>(std::min(bytes, kMostPerCall)), &count,
               &place))
    return count;
  if (GetLastError() == ERROR_HANDLE_EOF) return 0;
  set_errno();
  return -1;
}

int64_t write_at(int descriptor, const void* from, size_t bytes, int64_t offset) {
  OVERLAPPED place = at_offset(offset);
  DWORD count = 0;
  const auto most = static_cast<DWORD>(std::min(bytes, kMostPerCall));
  return succeeded(WriteFile(handle_of(descriptor), from, most, &count, &place)) ? count : -1;
}

bool resize(int descriptor, int64_t bytes) {
  FILE_END_OF_FILE_INFO end{};
  end.EndOfFile.QuadPart = bytes;
  return succeeded(SetFileInformationByHandle(handle_of(descriptor), FileEndOfFileInfo, &end, sizeof end));
}

bool flush_to_disk(int descriptor) {
  return succeeded(FlushFileBuffers(handle_of(descriptor)));
}

bool take_over_attributes(const std::string& /*path*/, const FileStatus& /*of*/, int /*descriptor*/) {
  return true;
}

bool remove(const std::string& path) {
  return succeeded(DeleteFileW(wide_path(path).c_str()));
}

bool flush_directory(const std::string& /*directory*/) {
  return true;  // replace() has written it
}

}  // namespace glove::system_calls
