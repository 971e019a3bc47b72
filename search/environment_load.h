// Coordinates the threads that want to open $GLOVE_MODEL.
#pragma once

#include <unistd.h>

#include <thread>

#include "base/fork_safe_mutex.h"

namespace glove {

// At most one thread opens the file. The others call begin() repeatedly, because each polls its own interrupt
// meanwhile. A forked child never waits for a thread that it does not have. Thread-safe.
class EnvironmentLoad {
 public:
  enum class Turn {
    kDone,    // it was opened and is not opened again
    kMine,    // the caller must open it and then call end()
    kWait,    // another thread is opening it: try again later
    kNested,  // the caller is already opening it, further up its stack
  };

  Turn begin() {
    const Lock lock(mutex_);
    if (done_) return Turn::kDone;
    if (process_ == ::getpid()) return thread_ == std::this_thread::get_id() ? Turn::kNested : Turn::kWait;
    process_ = ::getpid();
    thread_ = std::this_thread::get_id();
    return Turn::kMine;
  }
  void end(bool opened) {
    const Lock lock(mutex_);
    process_ = 0;
    done_ = opened;
  }

 private:
  ForkSafeMutex mutex_;  // held only briefly
  bool done_ GLOVE_GUARDED_BY(mutex_) = false;
  // The process that is opening it, or 0. If it is a parent of this process, that thread does not exist here.
  pid_t process_ GLOVE_GUARDED_BY(mutex_) = 0;
  std::thread::id thread_ GLOVE_GUARDED_BY(mutex_);
};

}  // namespace glove
