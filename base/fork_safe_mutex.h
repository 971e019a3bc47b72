// A mutex that is never locked in a forked child by a thread that the child does not have.
#pragma once

#include <mutex>

namespace glove {

// For state that belongs to the process. fork() waits until no other thread holds any of these mutexes, and
// parent and child continue with all of them unlocked. Works with std::lock_guard. REQUIRES: a thread that
// holds one does not lock another one, fork, or run the host's code.
class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace glove
