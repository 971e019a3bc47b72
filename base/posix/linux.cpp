#include <fcntl.h>
#include <iconv.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "base/file_calls.h"
#include "base/posix/posix.h"
#include "base/scope_exit.h"
#include "base/system_calls.h"

namespace glove::system_calls {
namespace {

constexpr double kNoQuota = 1e9;

// Counts the cores in the affinity mask, which the kernel only returns if the given mask is large enough.
int cores_by_affinity() {
  for (int size = 1024; size <= 1 << 20; size *= 2) {
    cpu_set_t* set = CPU_ALLOC(size);
    if (set == nullptr) return 1;
    const size_t bytes = CPU_ALLOC_SIZE(size);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known) return std::max(count, 1);
  }
  return std::max(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), 1);
}

// Returns what a file of the kernel's contains, at most 64 KiB; nothing if it cannot be read. Streams of the
// standard library would add all of its locales to glove.so.
std::string content_of(const std::string& path) {
  std::string content;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return content;
  content.resize(size_t{64} << 10);
  size_t length = 0;
  while (length < content.size()) {
    const ssize_t count = ::read(descriptor, content.data() + length, content.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    length += static_cast<size_t>(count);
  }
  ::close(descriptor);
  content.resize(length);
  return content;
}

// Takes the number at the front of the text, after spaces; 0 if there is none.
double take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return code == std::errc() ? static_cast<double>(number) : 0;
}

// Parses "max 100000" or "150000 100000" and returns the number of cores.
double quota_in(const std::string& directory) {
  const auto cores = [](std::string_view quota, std::string_view period) {
    const double of_time = take_number(quota), time = take_number(period);
    return of_time > 0 && time > 0 ? of_time / time : kNoQuota;
  };
  const std::string both = content_of(directory + "/cpu.max");
  const size_t space = std::min(both.find(' '), both.size());
  const double found = cores(std::string_view(both).substr(0, space), std::string_view(both).substr(space));
  if (found < kNoQuota) return found;
  return cores(content_of(directory + "/cpu.cfs_quota_us"), content_of(directory + "/cpu.cfs_period_us"));
}

// Returns the smallest quota from the process's cgroup up to the root, in both hierarchies.
double cgroup_quota() {
  double cores = kNoQuota;
  const std::string groups = content_of("/proc/self/cgroup");
  for (size_t begin = 0, end = 0; begin < groups.size(); begin = end + 1) {
    end = std::min(groups.find('\n', begin), groups.size());
    const std::string line = groups.substr(begin, end - begin);
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers.find("cpu") == std::string::npos) continue;
    const std::string root = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controllers;
    std::string path = line.substr(second + 1);
    while (!path.empty()) {
      cores = std::min(cores, quota_in(root + path));
      const size_t slash = path.rfind('/');
      path.resize(slash == std::string::npos ? 0 : slash);
    }
    cores = std::min(cores, quota_in(root));
  }
  return cores;
}

// A path that leads to an open file.
std::string path_of(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

}  // namespace

// Some of these calls have no function in the C libraries of before 2020, so they are made directly.
uint32_t thread_number() {
  return static_cast<uint32_t>(::syscall(SYS_gettid));
}

void name_thread(std::thread& thread, const char* name) {
  pthread_setname_np(thread.native_handle(), name);
}

int usable_cores() {
  static const double quota = cgroup_quota();
  const auto allowed = static_cast<int>(std::min(std::ceil(quota), kNoQuota));
  return std::max(1, std::min(cores_by_affinity(), allowed));
}

// It refuses where it does not know them, or where a thread's signal stack is too small for them. Source:
// Linux, Documentation/arch/x86/xstate.rst.
bool allow_amx() {
#if defined(__x86_64__)
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr unsigned long kTileData = 18;     // XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

bool fill_randomly(void* buffer, size_t bytes) {
  return ::syscall(SYS_getrandom, buffer, bytes, 0) == static_cast<long>(bytes);
}

int64_t copy_range(int from, int64_t* from_offset, int to, int64_t* to_offset, size_t bytes) {
  return ::syscall(SYS_copy_file_range, from, from_offset, to, to_offset, bytes, 0);
}

int open_unnamed(const std::string& directory, mode_t mode) {
  return ::open(directory.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
}

bool can_be_named(int descriptor) {
  return ::access(path_of(descriptor).c_str(), F_OK) == 0;
}

bool give_name(int descriptor, const std::string& path) {
  return ::linkat(AT_FDCWD, path_of(descriptor).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

void reserve(int descriptor, int64_t offset, int64_t bytes) {
  (void)::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, bytes);
}

void start_flush(int descriptor, int64_t offset, int64_t bytes) {
  (void)::sync_file_range(descriptor, offset, bytes, SYNC_FILE_RANGE_WRITE);
}

void keep_mapped(const void* /*address*/) {}

Status recode(const std::string& encoding, std::span<const std::string_view> words, std::string& bytes,
              std::vector<size_t>& ends) {
  const bool is_name = encoding.find('/') == std::string::npos;  // "//" begins options
  const iconv_t converter = is_name ? ::iconv_open("UTF-8", encoding.c_str()) : iconv_t(-1);
  if (converter == iconv_t(-1))
    return make_error(ErrorCode::kInvalidArgument, "the C library has no encoding '", encoding,
                      "'; iconv -l lists those that it can have");
  const ScopeExit close([&] { ::iconv_close(converter); });
  // Some encodings hold a character back that the next one may change; this appends it, and begins anew.
  const auto flush = [&] {
    std::array<char, 256> text;
    char* end = text.data();
    size_t room = text.size();
    ::iconv(converter, nullptr, nullptr, &end, &room);
    bytes.append(text.data(), end);
  };
  for (const std::string_view word : words) {
    auto* at = const_cast<char*>(word.data());  // which iconv() does not write to
    size_t left = word.size();
    while (left > 0) {
      std::array<char, 256> text;
      char* end = text.data();
      size_t room = text.size();
      const bool failed = ::iconv(converter, &at, &left, &end, &room) == size_t(-1);
      const int reason = errno;
      bytes.append(text.data(), end);
      if (!failed || reason == E2BIG) continue;
      flush();
      bytes += '\xFF';
      ++at;
      --left;
    }
    flush();
    ends.push_back(bytes.size());
  }
  return {};
}

}  // namespace glove::system_calls

namespace glove::posix {
namespace {

constexpr const char* kAccessControlList = "system.posix_acl_access";

}  // namespace

const char* const kLibrarySuffix = ".so";

bool copy_access_control_list(const std::string& from, int to) {
  const ssize_t bytes = ::getxattr(from.c_str(), kAccessControlList, nullptr, 0);
  if (bytes < 0 && errno == ENOTSUP) return true;
  if (bytes < 0)
    return errno == ENODATA &&
           (::fremovexattr(to, kAccessControlList) == 0 || errno == ENODATA || errno == ENOTSUP);
  std::vector<char> list(static_cast<size_t>(bytes));
  return ::getxattr(from.c_str(), kAccessControlList, list.data(), list.size()) == bytes &&
         ::fsetxattr(to, kAccessControlList, list.data(), list.size(), 0) == 0;
}

// The bare system call, because sanitizers would take mmap() for a write that races with other readers of the
// page.
bool map_zero_page(uintptr_t address, size_t bytes) {
  return ::syscall(SYS_mmap, address, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L) !=
         -1;
}

int64_t modified_at(const struct stat& info) {
  return nanoseconds(info.st_mtim);
}

int64_t changed_at(const struct stat& info) {
  return nanoseconds(info.st_ctim);
}

// The kernel passes it to each program, also where /proc is not mounted.
std::string program_path() {
  const auto* const path = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return path == nullptr ? "" : system_calls::resolved_path(path).value_or("");
}

}  // namespace glove::posix
