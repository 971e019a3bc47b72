// A mutex that is never locked in a forked child by a thread that the child does not have.
#pragma once

#include <mutex>

#include "base/mutex.h"

namespace glove {

// For state that belongs to the process. fork() waits until no other thread holds any of these mutexes, and
// parent and child continue with all of them unlocked. REQUIRES: a thread that
// holds one does not lock another one, fork, or run the host's code.
class GLOVE_MUTEX ForkSafeMutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() GLOVE_ACQUIRES() { mutex_.lock(); }
  void unlock() GLOVE_RELEASES() { mutex_.unlock(); }

 private:
  std::mutex mutex_;  // without attributes, because lock() and unlock() carry them
};

}  // namespace glove
