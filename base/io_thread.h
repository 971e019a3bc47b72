// A thread for work that waits: for a disk, a device or a file. Arithmetic goes to the ThreadPool.
#pragma once

#include <functional>
#include <thread>

namespace glove {

// Runs one function on a thread of its own, with the host's signals blocked and under the float environment.
// One thread at a time may use it.
class IoThread {
 public:
  IoThread() = default;
  ~IoThread() { join(); }
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // Starts `body`, which must not throw. `name` (at most 15 bytes) is what debuggers show. Returns false if
  // the system gives no more threads or memory; the caller then does the work itself. REQUIRES: !started()
  bool start(const char* name, std::function<void()> body) noexcept;

  // True from a successful start() until join().
  bool started() const { return thread_.joinable(); }

  // Waits until `body` has returned; does nothing if there is no thread.
  void join();

 private:
  std::thread thread_;
};

}  // namespace glove
