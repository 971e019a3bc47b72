// A thread for work that waits for a disk, a device or a file. Computations belong on the ThreadPool.
#pragma once

#include <functional>
#include <thread>

namespace glove {

// Runs one function on a separate thread, with the host's signals blocked and under the float environment.
// One thread at a time may use it.
class IoThread {
 public:
  IoThread() = default;
  ~IoThread() { join(); }

  // Starts `body`, which must not throw. Debuggers show `name` (at most 15 bytes). Returns false if the
  // system has no more threads or memory; the caller must then do the work itself. REQUIRES: !started()
  bool start(const char* name, std::function<void()> body) noexcept;

  // True from a successful start() until join().
  bool started() const { return thread_.joinable(); }

  // Waits until `body` has returned. Does nothing if no thread was started.
  void join();

 private:
  std::thread thread_;
};

}  // namespace glove
