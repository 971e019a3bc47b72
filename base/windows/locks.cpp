#include "base/windows/locks.h"

#include <algorithm>
#include <cstdint>

#include "base/spin.h"
#include "base/windows/windows.h"

namespace glove {
namespace {

// Both are a pointer, which is null at first.
static_assert(sizeof(SRWLOCK) == sizeof(void*) && sizeof(CONDITION_VARIABLE) == sizeof(void*));

SRWLOCK* srw_lock(void*& state) {
  return reinterpret_cast<SRWLOCK*>(&state);
}

CONDITION_VARIABLE* condition(void*& state) {
  return reinterpret_cast<CONDITION_VARIABLE*>(&state);
}

}  // namespace

// Tries for a while first: mutexes are held for moments, and to sleep costs more, above all under wine.
void SystemMutex::lock() {
  constexpr int kTurns = 100;
  for (int turn = 0; turn < kTurns; ++turn) {
    if (TryAcquireSRWLockExclusive(srw_lock(state_)) != FALSE) return;
    spin_pause();
  }
  AcquireSRWLockExclusive(srw_lock(state_));
}

void SystemMutex::unlock() {
  ReleaseSRWLockExclusive(srw_lock(state_));
}

void SystemCondition::wait(std::unique_lock<SystemMutex>& lock) {
  SleepConditionVariableSRW(condition(state_), srw_lock(lock.mutex()->state_), INFINITE, 0);
}

std::cv_status SystemCondition::wait_until(std::unique_lock<SystemMutex>& lock,
                                           std::chrono::steady_clock::time_point end) {
  constexpr int64_t kMost = 1 << 30;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  const auto wait = static_cast<DWORD>(std::clamp<int64_t>(left.count(), 0, kMost));
  const bool woken =
      SleepConditionVariableSRW(condition(state_), srw_lock(lock.mutex()->state_), wait, 0) != FALSE;
  // The system counts in ticks, and may be early by one.
  return woken || std::chrono::steady_clock::now() < end ? std::cv_status::no_timeout
                                                         : std::cv_status::timeout;
}

void SystemCondition::notify_one() {
  WakeConditionVariable(condition(state_));
}

void SystemCondition::notify_all() {
  WakeAllConditionVariable(condition(state_));
}

}  // namespace glove
