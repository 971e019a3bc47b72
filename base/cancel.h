// How a caller stops work that takes long.
#pragma once

#include <chrono>
#include <functional>

#include "base/status.h"
#include "base/timer.h"

namespace glove {

// Returns true to stop the work, which then fails with interrupted_error(). It is called only on the thread
// that called the function it was given to, at least every 10 ms of work, and never while a lock is held: it
// may run the host's code, which may call back into the library. Empty: the work is never stopped.
using InterruptCheck = std::function<bool()>;

// The one error of work that was stopped.
inline Error interrupted_error() {
  return {ErrorCode::kInterrupted, "interrupted"};
}

// Returns interrupted_error() if `interrupted` says so.
inline Status check_interrupt(const InterruptCheck& interrupted) {
  if (interrupted && interrupted()) return interrupted_error();
  return {};
}

// Calls an InterruptCheck at the first question, and then only when its last answer is 2 ms old. A question
// costs about 25 ns, so that a loop may ask at every turn. Once true, always true.
class InterruptPoll {
 public:
  static constexpr std::chrono::milliseconds kInterval{2};

  // `interrupted` must outlive the poll.
  explicit InterruptPoll(const InterruptCheck& interrupted) : interrupted_(interrupted) {}

  // Returns true if the work is to stop.
  bool stop() {
    if (stopped_ || !interrupted_) return stopped_;
    if (asked_ && since_asked_.microseconds() < 1e3 * kInterval.count()) return false;
    asked_ = true;
    stopped_ = interrupted_();
    since_asked_.lap();
    return stopped_;
  }

  // True if stop() has returned true; does not ask.
  bool stopped() const { return stopped_; }

  // Returns interrupted_error() if the work is to stop.
  Status check() {
    if (stop()) return interrupted_error();
    return {};
  }

 private:
  const InterruptCheck& interrupted_;
  Timer since_asked_;
  bool asked_ = false;
  bool stopped_ = false;
};

}  // namespace glove
