#include "base/thread_pool.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/float_environment.h"
#include "base/spin.h"
#include "base/system_calls.h"

namespace glove {
namespace {

std::atomic<ThreadPool*> g_pool{nullptr};

// Waking a thread takes longer than many chunks do: on a virtual machine 20 us or more on each side. A thread
// therefore spins before it sleeps: a caller until its helpers have done their last chunks, and a worker
// until there is more work, for at most a quarter of the time that it has just worked.
using Clock = std::chrono::steady_clock;
constexpr Clock::duration kMostSpinning = std::chrono::microseconds(50);

// Runs in a forked child: the threads do not exist and the mutex may be locked forever, so the old pool is
// abandoned.
void forget_pool() {
  g_pool.store(nullptr, std::memory_order_relaxed);
}

// Chunks that several threads take one after another.
class Chunks {
 public:
  Chunks(const ThreadPool::Work& work, int64_t count) : work_(work), count_(count) {}

  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  // Stops all work if `poll` returns true.
  void ask(InterruptPoll& poll) try {
    if (poll.stop()) stop();
  } catch (...) {
    stop();
    throw;
  }

  // Runs chunks on the calling thread until none is left or all work is stopped.
  void take(InterruptPoll& poll) {
    for (ask(poll); !stopped() && run_next(0); ask(poll)) {
    }
  }
  // The same on another thread, in the next free slot.
  void take_as_helper() {
    const int slot = next_slot_.fetch_add(1, std::memory_order_relaxed);
    while (!stopped() && run_next(slot)) {
    }
  }

 private:
  void stop() { stopped_.store(true, std::memory_order_relaxed); }

  // Returns false if no chunk is left. An exception in a chunk stops the others.
  bool run_next(int slot) try {
    const int64_t chunk = next_chunk_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= count_) return false;
    work_(slot, chunk);
    return true;
  } catch (...) {
    stop();
    throw;
  }

  const ThreadPool::Work& work_;
  const int64_t count_;
  std::atomic<int64_t> next_chunk_{0};
  std::atomic<int> next_slot_{1};
  std::atomic<bool> stopped_{false};
};

}  // namespace

ThreadPool& ThreadPool::instance() {
  if (ThreadPool* pool = g_pool.load(std::memory_order_acquire)) return *pool;
  static std::atomic<bool> registered{false};
  if (!registered.exchange(true)) system_calls::at_fork(nullptr, nullptr, forget_pool);
  auto* fresh = new ThreadPool;
  ThreadPool* current = nullptr;
  if (g_pool.compare_exchange_strong(current, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;  // another thread was faster; this pool has no threads yet
  return *current;
}

bool ThreadPool::run(int threads, int64_t chunks, const Work& work, const InterruptCheck& interrupted) {
  Chunks shared(work, chunks);
  InterruptPoll poll(interrupted);
  const auto most = static_cast<int>(std::min<int64_t>(threads, chunks) - 1);
  if (most <= 0) {
    shared.take(poll);
    return !shared.stopped();
  }
  Helpers helpers(most, [&shared] { shared.take_as_helper(); });
  helpers.call(most);
  shared.take(poll);
  helpers.finish([&] { shared.ask(poll); });
  return !shared.stopped();
}

void ThreadPool::start_workers(size_t wanted) {
  if (workers_ >= wanted) return;
  const BlockedSignals blocked;
  while (workers_ < wanted) {
    try {
      std::thread thread(&ThreadPool::worker_loop, this);
      system_calls::name_thread(thread, "glove-compute");
      thread.detach();
      ++workers_;
    } catch (const std::exception&) {
      return;  // the system has no more threads: the existing ones do the work
    }
  }
}

// Serves callers in turn: a caller that wants more than one helper goes to the end of the queue. Not checked,
// because the compiler cannot see that the pool of each of the helpers is this one.
void ThreadPool::worker_loop() GLOVE_NOT_CHECKED {
  const ScopedFloatEnvironment environment;
  Lock lock(mutex_);
  for (;;) {
    while (waiting_.empty()) work_ready_.wait(mutex_);
    Helpers& helpers = *waiting_.front();
    helpers.take_off_queue();
    --helpers.calls_;
    ++helpers.running_;
    helpers.enqueue_if_wanted();
    lock.unlock();
    const Clock::time_point start = Clock::now();
    std::exception_ptr error;
    try {
      helpers.help_();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !helpers.error_) helpers.error_ = error;
    --helpers.running_;
    helpers.enqueue_if_wanted();
    if (helpers.running_ == 0) helpers.idle_.notify_all();
    if (!waiting_.empty()) continue;
    lock.unlock();
    spin_until(std::min((Clock::now() - start) / 4, kMostSpinning),
               [this] { return wanted_.load(std::memory_order_relaxed); });
    lock.lock();
  }
}

ThreadPool::Helpers::Helpers(int most, std::function<void()> help) : most_(most), help_(std::move(help)) {}

ThreadPool::Helpers::~Helpers() {
  dismiss({});
}

// Moving the node allocates no memory and therefore cannot fail on a worker.
void ThreadPool::Helpers::enqueue_if_wanted() {
  if (calls_ > 0 && running_ < most_ && !self_.empty()) pool_.waiting_.splice(pool_.waiting_.end(), self_);
  pool_.wanted_.store(!pool_.waiting_.empty(), std::memory_order_relaxed);
}

void ThreadPool::Helpers::take_off_queue() {
  if (self_.empty()) self_.splice(self_.begin(), pool_.waiting_, node_);
  pool_.wanted_.store(!pool_.waiting_.empty(), std::memory_order_relaxed);
}

void ThreadPool::Helpers::call(int count) {
  int awaited = 0;
  {
    const Lock lock(pool_.mutex_);
    awaited = std::min(count, most_ - calls_);
    if (awaited <= 0) return;
    calls_ += awaited;
    enqueue_if_wanted();
    pool_.start_workers(static_cast<size_t>(std::min(calls_ + running_, most_)));
  }
  for (int i = 0; i < awaited; ++i) pool_.work_ready_.notify_one();
}

void ThreadPool::Helpers::dismiss(const std::function<void()>& while_waiting) {
  Lock lock(pool_.mutex_);
  calls_ = 0;
  take_off_queue();
  if (running_ > 0) {
    lock.unlock();
    spin_until(kMostSpinning, [this] { return running_.load(std::memory_order_relaxed) == 0; });
    lock.lock();
  }
  while (running_ > 0) {
    if (!while_waiting) {
      idle_.wait(pool_.mutex_);
    } else if (!idle_.wait_for(pool_.mutex_, InterruptPoll::kInterval)) {
      lock.unlock();
      try {
        while_waiting();
        lock.lock();
      } catch (...) {
        lock.lock();
        if (!error_) error_ = std::current_exception();
      }
    }
  }
}

void ThreadPool::Helpers::finish(const std::function<void()>& while_waiting) {
  dismiss(while_waiting);
  Lock lock(pool_.mutex_);
  const std::exception_ptr error = std::exchange(error_, nullptr);
  lock.unlock();
  if (error) std::rethrow_exception(error);
}

}  // namespace glove
