// A mutex that a forked child never finds locked by a thread that it does not have.
#pragma once

#include <mutex>

namespace glove {

// For state that belongs to the process. fork() waits until no other thread holds any of these mutexes;
// parent and child go on with all of them unlocked. Works with std::lock_guard. REQUIRES: a thread that holds
// one neither locks another, nor forks, nor runs the host's code.
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
