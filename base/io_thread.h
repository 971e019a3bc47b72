// A thread for work that waits for a disk, a device or a file, or that goes on beside the caller.
// Computations that the caller waits for belong on the ThreadPool.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.h"

namespace glove {

// Runs one function on a separate thread, with the host's signals blocked and under the float environment.
// One thread at a time may use it.
class IoThread {
 public:
  IoThread();
  ~IoThread();

  // Starts `body`, which must not throw. Debuggers show `name` (at most 15 bytes). Returns false if the
  // system has no more threads or memory; the caller must then do the work itself. REQUIRES: !started()
  bool start(const char* name, std::function<void()> body) noexcept;

  // True from a successful start() until join().
  bool started() const { return running_ != nullptr; }

  // Waits until `body` has returned, and not longer than this. Returns whether it has. REQUIRES: started(),
  // and the process was not forked since.
  bool wait_for(std::chrono::milliseconds most);

  // Whether the process was forked since the start, so that it has no such thread. REQUIRES: started()
  bool is_lost() const;

  // Waits until `body` has returned. Does nothing if no thread was started, nor in a process that was forked
  // since, which has no such thread.
  void join();

 private:
  struct Running;
  std::unique_ptr<Running> running_;
};

}  // namespace glove
