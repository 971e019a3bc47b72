#include <unistd.h>

#include <cerrno>

#include "base/file_calls.h"
#include "base/posix/posix.h"
#include "base/system_calls.h"

// A WebAssembly module has one thread and no access control lists, and its files lie in memory or belong to a
// browser's origin.
namespace glove::system_calls {

uint32_t thread_number() {
  return 1;
}

void name_thread(std::thread& /*thread*/, const char* /*name*/) {}

int usable_cores() {
  return 1;
}

bool allow_amx() {
  return false;
}

bool fill_randomly(void* buffer, size_t bytes) {
  return ::getentropy(buffer, bytes) == 0;
}

int64_t copy_range(int /*from*/, int64_t* /*from_offset*/, int /*to*/, int64_t* /*to_offset*/,
                   size_t /*bytes*/) {
  errno = ENOTSUP;
  return -1;
}

int open_unnamed(const std::string& /*directory*/, mode_t /*mode*/) {
  errno = ENOTSUP;
  return -1;
}

bool can_be_named(int /*descriptor*/) {
  return false;
}

bool give_name(int /*descriptor*/, const std::string& /*path*/) {
  errno = ENOTSUP;
  return false;
}

void reserve(int /*descriptor*/, int64_t /*offset*/, int64_t /*bytes*/) {}

void start_flush(int /*descriptor*/, int64_t /*offset*/, int64_t /*bytes*/) {}

void keep_mapped(const void* /*address*/) {}

}  // namespace glove::system_calls

namespace glove::posix {
namespace {

int64_t nanoseconds(const struct timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

bool copy_access_control_list(const std::string& /*from*/, int /*to*/) {
  return true;
}

bool map_zero_page(uintptr_t /*address*/, size_t /*bytes*/) {
  return false;
}

int64_t modified_at(const struct stat& info) {
  return nanoseconds(info.st_mtim);
}

int64_t changed_at(const struct stat& info) {
  return nanoseconds(info.st_ctim);
}

}  // namespace glove::posix
