// A mutex, its lock and its condition, which let clang prove at compile time that guarded members are used
// only while their mutex is held (-Wthread-safety, https://clang.llvm.org/docs/ThreadSafetyAnalysis.html).
// std::mutex does not carry the attributes. Other compilers see none.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

// Where std::mutex is slow, as mingw's is, CMakeLists.txt names a header with the system's locks.
#if defined(GLOVE_SYSTEM_LOCKS)
#include GLOVE_SYSTEM_LOCKS
#else
namespace glove {
using SystemMutex = std::mutex;
using SystemCondition = std::condition_variable;
}  // namespace glove
#endif

#if defined(__clang__)
#define GLOVE_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define GLOVE_THREAD_ATTRIBUTE(attribute)
#endif

// A member that may be read or written only while the mutex is held.
#define GLOVE_GUARDED_BY(mutex) GLOVE_THREAD_ATTRIBUTE(guarded_by(mutex))
// A function that may be called only while the mutex is held.
#define GLOVE_REQUIRES(mutex) GLOVE_THREAD_ATTRIBUTE(requires_capability(mutex))
// A function that is not checked; a comment says why it is right.
#define GLOVE_NOT_CHECKED GLOVE_THREAD_ATTRIBUTE(no_thread_safety_analysis)
// For classes that are mutexes or locks, and for their functions.
#define GLOVE_MUTEX GLOVE_THREAD_ATTRIBUTE(capability("mutex"))
#define GLOVE_LOCK GLOVE_THREAD_ATTRIBUTE(scoped_lockable)
#define GLOVE_ACQUIRES(...) GLOVE_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define GLOVE_RELEASES(...) GLOVE_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))

namespace glove {

// Not recursive.
class GLOVE_MUTEX Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() GLOVE_ACQUIRES() { mutex_.lock(); }
  void unlock() GLOVE_RELEASES() { mutex_.unlock(); }

 private:
  friend class ConditionVariable;
  SystemMutex mutex_;
};

// Holds a Mutex or a ForkSafeMutex from its creation to the end of its scope, but for what lies between
// unlock() and lock().
template <class AnyMutex>
class GLOVE_LOCK Lock {
 public:
  explicit Lock(AnyMutex& mutex) GLOVE_ACQUIRES(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() GLOVE_RELEASES() {
    if (holds_) mutex_.unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  // REQUIRES: the mutex is not held.
  void lock() GLOVE_ACQUIRES() {
    mutex_.lock();
    holds_ = true;
  }
  // REQUIRES: the mutex is held.
  void unlock() GLOVE_RELEASES() {
    holds_ = false;
    mutex_.unlock();
  }

 private:
  AnyMutex& mutex_;
  bool holds_ = true;
};

// What a thread waits for while others change what the mutex guards. Call in a loop that tests what is waited
// for: a wait may end without a notification. The caller holds the mutex, as it does again when a wait
// returns.
class ConditionVariable {
 public:
  ConditionVariable() = default;
  ConditionVariable(const ConditionVariable&) = delete;
  ConditionVariable& operator=(const ConditionVariable&) = delete;

  void wait(Mutex& mutex) GLOVE_REQUIRES(mutex) {
    std::unique_lock adopted(mutex.mutex_, std::adopt_lock);
    condition_.wait(adopted);
    adopted.release();
  }
  // Returns false if the time has passed.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point end) GLOVE_REQUIRES(mutex) {
    std::unique_lock adopted(mutex.mutex_, std::adopt_lock);
    const bool in_time = condition_.wait_until(adopted, end) == std::cv_status::no_timeout;
    adopted.release();
    return in_time;
  }
  bool wait_for(Mutex& mutex, std::chrono::steady_clock::duration most) GLOVE_REQUIRES(mutex) {
    return wait_until(mutex, std::chrono::steady_clock::now() + most);
  }

  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  SystemCondition condition_;
};

// A mutex that is never locked in a forked child by a thread that the child does not have. For state that
// belongs to the process. fork() waits until no other thread holds any of these mutexes, and
// parent and child continue with all of them unlocked. REQUIRES: a thread that
// holds one does not lock another one, fork, or run the host's code.
class GLOVE_MUTEX ForkSafeMutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() GLOVE_ACQUIRES() { mutex_.lock(); }
  void unlock() GLOVE_RELEASES() { mutex_.unlock(); }

 private:
  SystemMutex mutex_;  // without attributes, because lock() and unlock() carry them
};

// The only such T, which the first call makes and nobody frees, because threads, connections and models may
// outlive static objects.
template <class T>
T& never_freed() {
  static T* const instance = new T;
  return *instance;
}

}  // namespace glove
