// How long something takes.
#pragma once

#include <chrono>

namespace glove {

// Measures time by a clock that nobody sets. One thread at a time may use it.
class Timer {
 public:
  // Returns the microseconds since the timer was made or lap() was last called.
  double microseconds() const {
    return std::chrono::duration<double, std::micro>(Clock::now() - start_).count();
  }

  // Returns the same, and starts again from now.
  double lap() {
    const Clock::time_point now = Clock::now();
    const double elapsed = std::chrono::duration<double, std::micro>(now - start_).count();
    start_ = now;
    return elapsed;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace glove
