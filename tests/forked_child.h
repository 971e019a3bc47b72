// Runs a part of a test in a child of this process.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace glove::testing {

// Returns true if `body` returns true in a forked child, which has no other thread than the calling one. A
// child that hangs is killed after a minute. Under AddressSanitizer no other thread may be allocating memory
// meanwhile: its allocator's locks, unlike those of the C library, stay locked in the child.
inline bool holds_in_forked_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace glove::testing
