#include <dlfcn.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/acl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/file_calls.h"
#include "base/posix/posix.h"
#include "base/system_calls.h"

namespace glove::system_calls {

uint32_t thread_number() {
  uint64_t number = 0;
  pthread_threadid_np(nullptr, &number);
  return static_cast<uint32_t>(number);
}

int usable_cores() {
  return std::max(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), 1);
}

bool fill_randomly(void* buffer, size_t bytes) {
  arc4random_buf(buffer, bytes);
  return true;
}

void keep_mapped(const void* address) {
  ::dlopen(library_of(address).c_str(), RTLD_LAZY | RTLD_NODELETE);
}

}  // namespace glove::system_calls

namespace glove::posix {

const char* const kLibrarySuffix = ".dylib";

bool copy_access_control_list(const std::string& from, int to) {
  acl_t list = acl_get_file(from.c_str(), ACL_TYPE_EXTENDED);
  if (list == nullptr && errno == ENOTSUP) return true;
  if (list == nullptr && errno == ENOENT) list = acl_init(0);  // the file has none
  if (list == nullptr) return false;
  const bool copied = acl_set_fd_np(to, list, ACL_TYPE_EXTENDED) == 0 || errno == ENOTSUP;
  acl_free(list);
  return copied;
}

bool map_zero_page(uintptr_t address, size_t bytes) {
  return ::mmap(reinterpret_cast<void*>(address), bytes, PROT_READ, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1,
                0) != MAP_FAILED;
}

int64_t modified_at(const struct stat& info) {
  return nanoseconds(info.st_mtimespec);
}

int64_t changed_at(const struct stat& info) {
  return nanoseconds(info.st_ctimespec);
}

std::string program_path() {
  std::array<char, PATH_MAX> path{};
  auto bytes = static_cast<uint32_t>(path.size());
  if (_NSGetExecutablePath(path.data(), &bytes) != 0) return "";
  return system_calls::resolved_path(path.data()).value_or("");
}

}  // namespace glove::posix
