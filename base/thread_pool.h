// The threads of the process that compute. They sleep when there is nothing to do. Work that waits for a disk
// or a device belongs on an IoThread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <mutex>

#include "base/cancel.h"

namespace glove {

// There is one pool per process, which is made at the first call of instance() and never destroyed: the
// threads that sleep in it must not outlive it. A forked child gets a pool of its own, without threads, at
// its first use. (A child that is forked while a thread is inside run() must not return into it.)
//
// The calling thread always takes part in its own work and waits only for threads that are at work on it.
// Work may therefore use the pool itself, and so may an InterruptCheck: neither can deadlock.
class ThreadPool {
 public:
  class Helpers;
  // slot: 0 .. threads-1, each used by one thread at a time. chunk: 0 .. chunks-1, each once.
  using Work = std::function<void(int slot, int64_t chunk)>;

  static ThreadPool& instance();

  // Runs work for every chunk on the calling thread (slot 0) and on up to threads - 1 others, which are
  // started if they are missing; fewer take part when the system has no more to give or other calls keep them
  // busy. Every thread of the pool works under the float environment. `interrupted` is called between chunks
  // and while the calling thread waits, with no lock held; a chunk should take well under 10 ms. Returns
  // false if it stopped the work: some chunks were not run. What work or `interrupted` throws is thrown here,
  // once no thread works any more.
  bool run(int threads, int64_t chunks, const Work& work, const InterruptCheck& interrupted = {});

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  ThreadPool() = default;
  ~ThreadPool() = delete;
  void start_workers(size_t wanted);  // REQUIRES: mutex_ held
  void worker_loop();

  std::mutex mutex_;
  std::condition_variable work_ready_;
  std::list<Helpers*> waiting_;  // for whom a worker may work, the longest waiting first; guarded by mutex_
  size_t workers_ = 0;           // guarded by mutex_
};

// Threads of the pool that help the calling thread, for work that is not a fixed number of chunks. Made, used
// and destroyed on one thread, which must be able to do all of the work alone: help may never come.
class ThreadPool::Helpers {
 public:
  // `help` is run once per call of call(), on at most `most` threads at a time: it should do one piece of
  // what there is to do, well under 10 ms, and return.
  Helpers(int most, std::function<void()> help);
  // As finish(), without its exception.
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  // Asks for `count` more runs of `help`; never more than `most` are outstanding beside those at work.
  void call(int count);

  // Takes back what nobody has begun, and waits for the helpers at work. Meanwhile calls `while_waiting`
  // every 2 ms with no lock held, unless it is empty. Rethrows the first exception of `help` or
  // `while_waiting`.
  void finish(const std::function<void()>& while_waiting = {});

 private:
  friend class ThreadPool;
  void enqueue_if_wanted();  // REQUIRES: the pool's mutex held
  void take_off_queue();     // REQUIRES: the pool's mutex held
  void dismiss(const std::function<void()>& while_waiting);

  ThreadPool& pool_ = instance();
  const int most_;
  const std::function<void()> help_;
  // The rest is guarded by the pool's mutex.
  int calls_ = 0;                      // outstanding
  int running_ = 0;                    // workers inside help_
  std::list<Helpers*> self_ = {this};  // empty while its node is in the pool's queue
  const std::list<Helpers*>::iterator node_ = self_.begin();
  std::exception_ptr error_;  // the first
  std::condition_variable idle_;
};

}  // namespace glove
