// The system's mutex and condition, with as much of the interface of std::mutex and std::condition_variable
// as base/mutex.h uses. mingw-w64 makes its own of semaphores, which cost calls to the kernel, and under wine
// to another process.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace glove {

// Not recursive.
class SystemMutex {
 public:
  SystemMutex() = default;
  SystemMutex(const SystemMutex&) = delete;
  SystemMutex& operator=(const SystemMutex&) = delete;

  void lock();
  void unlock();

 private:
  friend class SystemCondition;
  void* state_ = nullptr;  // an SRWLOCK
};

// Several threads may use it at the same time, with the same mutex.
class SystemCondition {
 public:
  SystemCondition() = default;
  SystemCondition(const SystemCondition&) = delete;
  SystemCondition& operator=(const SystemCondition&) = delete;

  void wait(std::unique_lock<SystemMutex>& lock);
  // Rounds the time up to milliseconds.
  std::cv_status wait_until(std::unique_lock<SystemMutex>& lock, std::chrono::steady_clock::time_point end);
  void notify_one();
  void notify_all();

 private:
  void* state_ = nullptr;  // a CONDITION_VARIABLE
};

}  // namespace glove
