// Threads that work beside the caller for a short time, such as one per further device during a search. Work
// reaches them within about a microsecond while searches follow each other closely.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>

#include "base/status.h"
#include "gpu/device/pool.h"

namespace glove::gpu {

// Keeps the threads that it has started. A thread that has just worked spins for 0.1 ms before it
// sleeps, because waking a thread takes a tenth of the time of a search. Thread-safe.
class SideThreads {
 public:
  // `i` is the number of the piece of work, and `interrupted` a check for the thread that does it.
  using Work = std::function<void(size_t i, const InterruptCheck& interrupted)>;

  SideThreads();
  ~SideThreads();
  SideThreads(const SideThreads&) = delete;
  SideThreads& operator=(const SideThreads&) = delete;

  // Calls work(i) once for each i < count and returns true: work(0) on the calling thread and each other one
  // on a thread of its own, or on the calling thread if the system has no more threads. All run under the
  // float environment. `interrupted` is called on the calling thread only, by work(0) and while it waits.
  // Once it has returned true, the checks of all threads return true, and run() returns false when all have
  // finished. The first exception of `work` or `interrupted` is rethrown after all threads have finished.
  // REQUIRES: the float environment.
  bool run(size_t count, const Work& work, const InterruptCheck& interrupted);

 private:
  class Thread;

  const pid_t process_;  // a forked child has none of the threads
  Pool<Thread> threads_;
};

}  // namespace glove::gpu
