// Waiting without sleeping, for what comes sooner than a sleeping thread wakes up.
#pragma once

#include <chrono>

namespace glove {

// Tells the processor that this thread spins, so that the core's other thread runs faster.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// Returns true as soon as condition() does, or false after about `most`.
template <class Condition>
bool spin_until(std::chrono::steady_clock::duration most, const Condition& condition) {
  constexpr int kTurnsPerTime = 16;  // between two readings of the clock
  const auto end = std::chrono::steady_clock::now() + most;
  do {
    for (int turn = 0; turn < kTurnsPerTime; ++turn) {
      if (condition()) return true;
      spin_pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace glove
