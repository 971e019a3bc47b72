// System calls that C libraries from before 2020 do not wrap. Each returns -1 and sets errno where the kernel
// lacks it, too.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

namespace glove::linux_calls {

// The calling thread's number, which no other thread of the system has. See gettid(2).
inline pid_t gettid() {
  return static_cast<pid_t>(::syscall(SYS_gettid));
}

// See getrandom(2).
inline ssize_t getrandom(void* buffer, size_t size) {
  return ::syscall(SYS_getrandom, buffer, size, 0);
}

// See copy_file_range(2).
inline ssize_t copy_file_range(int from, off_t* from_offset, int to, off_t* to_offset, size_t size) {
  static_assert(sizeof(off_t) == 8);  // the kernel's type
  return ::syscall(SYS_copy_file_range, from, from_offset, to, to_offset, size, 0);
}

}  // namespace glove::linux_calls
