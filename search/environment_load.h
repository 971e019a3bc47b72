// Whose turn it is to open $GLOVE_MODEL.
#pragma once

#include <unistd.h>

#include <mutex>
#include <thread>

#include "base/fork_safe_mutex.h"

namespace glove {

// At most one thread opens the file. The others ask again and again, because each has an interrupt of its own
// to heed meanwhile. Nothing waits for a thread that a forked child does not have. Thread-safe.
class EnvironmentLoad {
 public:
  enum class Turn {
    kDone,    // it was opened; it is not opened again
    kMine,    // the caller opens it, and then calls end()
    kWait,    // another thread is opening it: ask again
    kNested,  // the caller itself is opening it, further up its stack
  };

  Turn begin() {
    const std::lock_guard lock(mutex_);
    if (done_) return Turn::kDone;
    if (process_ == ::getpid()) return thread_ == std::this_thread::get_id() ? Turn::kNested : Turn::kWait;
    process_ = ::getpid();
    thread_ = std::this_thread::get_id();
    return Turn::kMine;
  }
  void end(bool opened) {
    const std::lock_guard lock(mutex_);
    process_ = 0;
    done_ = opened;
  }

 private:
  ForkSafeMutex mutex_;  // held for moments
  bool done_ = false;
  pid_t process_ = 0;  // which is opening it, or 0. If it is a parent of this one, that thread is not here
  std::thread::id thread_;
};

}  // namespace glove
