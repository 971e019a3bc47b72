#include "gpu/search/side_threads.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "base/float_environment.h"
#include "base/io_thread.h"
#include "base/mutex.h"
#include "base/require.h"
#include "base/spin.h"

namespace glove::gpu {
namespace {

constexpr std::chrono::microseconds kSpinTime{100};
constexpr std::chrono::milliseconds kPollInterval{1};

// What the threads of one run() share.
struct Run {
  const SideThreads::Work& work;
  const InterruptCheck& interrupted;
  std::atomic<bool> stopped = false;
  Mutex mutex = {};
  std::exception_ptr error GLOVE_GUARDED_BY(mutex) = {};  // the first

  void fail(std::exception_ptr thrown) {
    stopped = true;
    const Lock lock(mutex);
    if (!error) error = std::move(thrown);
  }

  // For the calling thread, after all work.
  void rethrow() {
    const Lock lock(mutex);
    if (error) std::rethrow_exception(error);
  }

  // For the calling thread. Never throws.
  bool ask() {
    try {
      if (!stopped && interrupted && interrupted()) stopped = true;
    } catch (...) {
      fail(std::current_exception());
    }
    return stopped;
  }

  void do_work(size_t i, const InterruptCheck& check) {
    try {
      work(i, check);
    } catch (...) {
      fail(std::current_exception());
    }
  }
};

}  // namespace

// A thread that does one piece of work after another.
class SideThreads::Thread {
 public:
  Thread() = default;
  ~Thread() {
    if (process_ != getpid()) {
      // The thread is the parent's: there is nothing to join, and it may have been waiting when the process
      // was forked, so that destroying the copy of what it waits for would never return.
      static_cast<void>(thread_.release());
      static_cast<void>(signal_.release());
      return;
    }
    if (!thread_->started()) return;
    change_to(State::kStop);
    thread_->join();
  }

  Status create() {
    if (thread_->start("glove-device", [this] { loop(); })) return {};
    return {ErrorCode::kOutOfMemory, "the system has no more threads"};
  }

  // Begins work() on this thread. REQUIRES: the work before has been waited for; `work` does not throw and
  // outlives the call of wait().
  void begin(const std::function<void()>* work) {
    work_ = work;
    change_to(State::kWorking);
  }

  // Waits for the work, and calls `while_waiting`, which may throw, about every millisecond.
  template <class WhileWaiting>
  void wait(const WhileWaiting& while_waiting) {
    if (spin_until(kSpinTime, [this] { return idle(); })) return;
    Lock lock(signal_->mutex);
    while (!idle()) {
      if (signal_->changed.wait_for(signal_->mutex, kPollInterval)) continue;
      lock.unlock();
      while_waiting();
      lock.lock();
    }
  }

 private:
  enum class State { kIdle, kWorking, kStop };
  struct Signal {
    Mutex mutex;
    ConditionVariable changed;  // of state_
  };

  bool idle() const { return state_.load(std::memory_order_acquire) == State::kIdle; }

  void change_to(State state) {
    const Lock lock(signal_->mutex);
    state_.store(state, std::memory_order_release);
    signal_->changed.notify_all();
  }

  void loop() {
    for (;;) {
      if (!spin_until(kSpinTime, [this] { return !idle(); })) {
        Lock lock(signal_->mutex);
        while (idle()) signal_->changed.wait(signal_->mutex);
      }
      if (state_.load(std::memory_order_acquire) == State::kStop) return;
      (*work_)();
      change_to(State::kIdle);
    }
  }

  const pid_t process_ = getpid();
  std::unique_ptr<IoThread> thread_ = std::make_unique<IoThread>();
  const std::function<void()>* work_ = nullptr;
  std::unique_ptr<Signal> signal_ = std::make_unique<Signal>();
  std::atomic<State> state_ = State::kIdle;  // written with signal_->mutex held
};

SideThreads::SideThreads() : process_(getpid()) {}

SideThreads::~SideThreads() = default;

bool SideThreads::run(size_t count, const Work& work, const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  Run run{work, interrupted};
  const InterruptCheck own = [&run] { return run.ask(); };
  const InterruptCheck others = [&run] { return run.stopped.load(std::memory_order_relaxed); };
  const size_t further = process_ == getpid() && count > 0 ? count - 1 : 0;
  std::vector<std::function<void()>> works;
  std::vector<Pool<Thread>::Loan> threads;
  works.reserve(further);  // threads keep addresses of its elements
  threads.reserve(further);
  for (size_t i = 0; i < further; ++i) {
    auto thread = threads_.take();
    if (!thread.ok()) break;
    works.emplace_back([&run, &others, i] { run.do_work(i + 1, others); });
    threads.push_back(std::move(thread).value());
  }
  for (size_t i = 0; i < threads.size(); ++i) threads[i]->begin(&works[i]);
  if (count > 0) run.do_work(0, own);
  for (size_t i = threads.size() + 1; i < count; ++i) run.do_work(i, own);
  for (const auto& thread : threads) thread->wait([&run] { run.ask(); });
  run.rethrow();
  return !run.stopped;
}

}  // namespace glove::gpu
