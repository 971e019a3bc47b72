// The process's threads for computations. After their work they spin for a short time, in which they may find
// more, and then sleep until there is some. Work that waits for a disk or a device must run on an
// IoThread instead.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>

#include "base/mutex.h"
#include "base/status.h"
#include "base/system_calls.h"

namespace glove {

// Returns the number of cores that this process may use, by its affinity and the CPU quota of its cgroup. At
// least 1.
inline int usable_cores() {
  return system_calls::usable_cores();
}

// Interprets the "threads" option: `requested` if it is positive, otherwise usable_cores().
inline int thread_count(int requested) {
  return requested > 0 ? requested : usable_cores();
}

// There is one pool per process. It is created at the first call of instance() and never destroyed, because
// its sleeping threads must not outlive it. A forked child gets its own pool, without threads, at its first
// use. (A child that is forked while a thread is inside run() must not return into it.)
//
// The calling thread always takes part in its own work and waits only for threads that are executing it. Work
// may therefore use the pool itself, and so may an InterruptCheck: neither can deadlock.
class ThreadPool {
 public:
  class Helpers;
  // slot: 0 .. threads-1, used by one thread at a time. chunk: 0 .. chunks-1, each passed once.
  using Work = std::function<void(int slot, int64_t chunk)>;

  static ThreadPool& instance();

  // Runs `work` for every chunk on the calling thread (slot 0) and on up to threads - 1 others, which are
  // started if necessary. Fewer take part if the system has no more threads or other calls keep them busy.
  // All threads of the pool run under the float environment. `interrupted` is called between chunks and while
  // the calling thread waits, with no lock held; a chunk should take well under 10 ms. Returns false if it
  // stopped the work, in which case some chunks were not run. Exceptions from `work` or `interrupted` are
  // rethrown here, after all threads have stopped working.
  bool run(int threads, int64_t chunks, const Work& work, const InterruptCheck& interrupted = {});

  // The same, but an interrupt is an error.
  static Status for_each(int threads, int64_t chunks, const InterruptCheck& interrupted, const Work& work) {
    return instance().run(threads, chunks, work, interrupted) ? Status() : interrupted_error();
  }

  // The same for the numbers [0, count) in pieces of `step`, of which the last may be smaller: calls
  // work(slot, first, last) for each.
  template <class PieceWork>
  static Status for_pieces(int threads, int64_t count, int64_t step, const InterruptCheck& interrupted,
                           const PieceWork& work) {
    const auto chunk_work = [&](int slot, int64_t chunk) {
      work(slot, chunk * step, std::min(count, (chunk + 1) * step));
    };
    return for_each(threads, (count + step - 1) / step, interrupted, chunk_work);
  }

 private:
  ThreadPool() = default;
  ~ThreadPool() = default;  // only of a pool that has not started a thread
  void start_workers(size_t wanted) GLOVE_REQUIRES(mutex_);
  void worker_loop();

  Mutex mutex_;
  ConditionVariable work_ready_;
  std::list<Helpers*> waiting_ GLOVE_GUARDED_BY(mutex_);  // those that want workers, longest wait first
  std::atomic<bool> wanted_{false};  // waiting_ is not empty; also read without the mutex
  size_t workers_ GLOVE_GUARDED_BY(mutex_) = 0;
};

// Threads of the pool that help the calling thread with work that is not a fixed number of chunks. It is
// created, used and destroyed on one thread, which must be able to do all of the work alone, because help may
// never arrive.
class ThreadPool::Helpers {
 public:
  // `help` runs once for each call requested with call(), on at most `most` threads at a time. Each run
  // should do one chunk of the available work, well under 10 ms, and return.
  Helpers(int most, std::function<void()> help);
  // Same as finish(), but never throws.
  ~Helpers();

  // Requests `count` more runs of `help`. At most `most` runs are outstanding in addition to those in
  // progress.
  void call(int count);

  // Cancels the runs that have not begun, and waits for those in progress. Meanwhile calls `while_waiting`,
  // unless it is empty, every 2 ms with no lock held. Rethrows the first exception of `help` or
  // `while_waiting`.
  void finish(const std::function<void()>& while_waiting = {});

 private:
  friend class ThreadPool;
  void enqueue_if_wanted() GLOVE_REQUIRES(pool_.mutex_);
  void take_off_queue() GLOVE_REQUIRES(pool_.mutex_);
  void dismiss(const std::function<void()>& while_waiting);

  ThreadPool& pool_ = instance();
  const int most_;
  const std::function<void()> help_;
  int calls_ GLOVE_GUARDED_BY(pool_.mutex_) = 0;  // outstanding
  std::atomic<int> running_{0};                   // workers inside help_; changed with the pool's mutex held
  std::list<Helpers*> self_ GLOVE_GUARDED_BY(pool_.mutex_) = {
      this};  // empty while its node is in the pool's queue
  const std::list<Helpers*>::iterator node_ = self_.begin();
  std::exception_ptr error_ GLOVE_GUARDED_BY(pool_.mutex_);  // the first
  ConditionVariable idle_;
};

// Lets all threads of ThreadPool::run stop inside a long chunk: the calling thread asks an InterruptCheck,
// and the others hear of its answer.
class ThreadInterrupt {
 public:
  // `interrupted` must outlive the object.
  explicit ThreadInterrupt(const InterruptCheck& interrupted) : poll_(interrupted) {}

  // Returns the check for the thread that has this slot; slot 0 is the calling thread. The object must
  // outlive it.
  InterruptCheck of(int slot) {
    if (slot != 0) return [this] { return stopped(); };
    return [this] {
      if (poll_.stop()) stopped_ = true;
      return stopped();
    };
  }

  // Returns true if the work must stop.
  bool stopped() const { return stopped_; }

 private:
  InterruptPoll poll_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace glove
