#include "base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "base/blocked_signals.h"
#include "base/float_environment.h"

namespace glove {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPollInterval{2};

std::atomic<ThreadPool*> g_pool{nullptr};

// In a forked child: the threads are gone and the mutex may be locked for ever, so the old pool is left
// behind.
void forget_pool() {
  g_pool.store(nullptr, std::memory_order_relaxed);
}

// Asks `interrupted` at first and whenever the last answer has become too old.
class InterruptPoll {
 public:
  explicit InterruptPoll(const InterruptCheck& interrupted) : interrupted_(interrupted) {}
  bool operator()() {
    if (!interrupted_) return false;
    const Clock::time_point now = Clock::now();
    if (now < due_) return false;
    due_ = now + kPollInterval;
    return interrupted_();
  }

 private:
  const InterruptCheck& interrupted_;
  Clock::time_point due_;
};

}  // namespace

struct ThreadPool::Job {
  Job(const Work& job_work, int64_t job_chunks, int helpers)
      : work(job_work), chunks(job_chunks), free_slots(helpers) {}

  const Work& work;
  const int64_t chunks;
  int free_slots;            // guarded by the pool's mutex
  int next_slot = 1;         // guarded by the pool's mutex
  int running = 0;           // workers inside; guarded by the pool's mutex
  std::exception_ptr error;  // the first; guarded by the pool's mutex
  std::condition_variable idle;
  std::atomic<int64_t> next_chunk{0};
  std::atomic<bool> stopped{false};

  // Takes chunks until there are none; `poll` may end all work.
  template <class Poll>
  void take_part(int slot, Poll&& poll) {
    while (!stopped.load(std::memory_order_relaxed)) {
      if (poll()) {
        stopped.store(true, std::memory_order_relaxed);
        return;
      }
      const int64_t chunk = next_chunk.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks) return;
      work(slot, chunk);
    }
  }
};

ThreadPool& ThreadPool::instance() {
  if (ThreadPool* pool = g_pool.load(std::memory_order_acquire)) return *pool;
  static std::atomic<bool> registered{false};
  if (!registered.exchange(true)) pthread_atfork(nullptr, nullptr, forget_pool);
  auto* fresh = new ThreadPool;
  ThreadPool* current = nullptr;
  if (g_pool.compare_exchange_strong(current, fresh, std::memory_order_acq_rel)) return *fresh;
  // Another thread was faster. Its pool serves; this one, with no threads yet, is a few unused bytes.
  operator delete(fresh);
  return *current;
}

bool ThreadPool::run(int threads, int64_t chunks, const Work& work, const InterruptCheck& interrupted) {
  const auto helpers = static_cast<int>(std::min<int64_t>(threads, chunks) - 1);
  Job job(work, chunks, std::max(helpers, 0));
  InterruptPoll poll(interrupted);
  if (helpers <= 0) {
    job.take_part(0, poll);
    return !job.stopped;
  }
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(&job);
    start_workers(static_cast<size_t>(helpers));
  }
  for (int i = 0; i < helpers; ++i) work_ready_.notify_one();
  try {
    job.take_part(0, poll);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    job.error = std::current_exception();
    job.stopped = true;
  }
  finish(job, interrupted);
  if (job.error) std::rethrow_exception(job.error);
  return !job.stopped;
}

void ThreadPool::finish(Job& job, const InterruptCheck& interrupted) {
  std::unique_lock lock(mutex_);
  std::erase(jobs_, &job);
  while (job.running > 0) {
    if (job.idle.wait_for(lock, kPollInterval) != std::cv_status::timeout || !interrupted) continue;
    lock.unlock();  // the callback belongs to the host and may take its time
    if (interrupted()) job.stopped = true;
    lock.lock();
  }
}

void ThreadPool::start_workers(size_t wanted) {
  if (workers_ >= wanted) return;
  const BlockedSignals blocked;
  while (workers_ < wanted) {
    try {
      std::thread thread(&ThreadPool::worker_loop, this);
      pthread_setname_np(thread.native_handle(), "glove-scan");
      thread.detach();
      ++workers_;
    } catch (const std::exception&) {
      return;  // the system has no more threads to give: those that exist do the work
    }
  }
}

void ThreadPool::worker_loop() {
  const ScopedFloatEnvironment environment;
  std::unique_lock lock(mutex_);
  for (;;) {
    work_ready_.wait(lock, [this] { return !jobs_.empty(); });
    Job& job = *jobs_.front();
    const int slot = job.next_slot++;
    if (--job.free_slots == 0) jobs_.erase(jobs_.begin());
    ++job.running;
    lock.unlock();
    std::exception_ptr error;
    try {
      job.take_part(slot, [] { return false; });
    } catch (...) {
      error = std::current_exception();
      job.stopped = true;
    }
    lock.lock();
    if (error && !job.error) job.error = error;
    if (--job.running == 0) job.idle.notify_all();
  }
}

}  // namespace glove
