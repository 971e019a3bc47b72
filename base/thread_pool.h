// The threads of the process that scan. They sleep when there is nothing to do.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "base/cancel.h"

namespace glove {

// One a process, made at the first call of instance() and never destroyed: threads that sleep in it must
// not outlive it. A forked child gets a pool of its own, without threads, at its first use. (A child forked
// from inside run() must not return into it.)
class ThreadPool {
 public:
  // slot: 0 .. threads-1, one thread at a time each. chunk: 0 .. chunks-1, each once.
  using Work = std::function<void(int slot, int64_t chunk)>;

  static ThreadPool& instance();

  // Runs work for every chunk on the calling thread and up to threads - 1 others, which are started if they
  // are missing; fewer take part when the system has no more to give or other calls keep them busy. Every
  // thread works under the float environment. `interrupted` is asked from the calling thread only, between
  // chunks and while it waits; a chunk should take well under 10 ms. False if it stopped the work: some
  // chunks were not run. What work throws is thrown here, once no thread works any more.
  bool run(int threads, int64_t chunks, const Work& work, const InterruptCheck& interrupted);

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  struct Job;
  ThreadPool() = default;
  ~ThreadPool() = delete;
  void start_workers(size_t wanted);  // REQUIRES: mutex_ held
  void worker_loop();
  void finish(Job& job, const InterruptCheck& interrupted);

  std::mutex mutex_;
  std::condition_variable work_ready_;
  std::vector<Job*> jobs_;  // with slots left; guarded by mutex_
  size_t workers_ = 0;      // guarded by mutex_
};

}  // namespace glove
