// A thread that uploads what searches can do without for now.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

#include "base/io_thread.h"
#include "base/mutex.h"

namespace glove::gpu {

// When the process exits, all of these are cancelled and joined before CUDA releases its memory. Thread-safe.
class BackgroundUpload {
 public:
  BackgroundUpload() = default;
  // Cancels the work and waits for it.
  ~BackgroundUpload();
  BackgroundUpload(const BackgroundUpload&) = delete;
  BackgroundUpload& operator=(const BackgroundUpload&) = delete;

  // Runs one of these at the first call, and does nothing later: `work`, which must not throw, on a thread of
  // its own, or `refused` on the calling thread if the system has no more threads or the process is exiting.
  void start(const std::function<void()>& work, const std::function<void()>& refused);

  // Set once the work must stop.
  const std::atomic<bool>& cancelled() const { return cancelled_; }

  // Waits until the work has ended, if it was started.
  void wait();

 private:
  static void stop_all();

  std::atomic<bool> cancelled_{false};
  std::once_flag once_;
  Mutex join_mutex_;  // held while thread_ is joined
  IoThread thread_;
};

}  // namespace glove::gpu
