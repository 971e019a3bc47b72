// Lets a caller stop long work.
#pragma once

#include <chrono>
#include <functional>

#include "base/status.h"
#include "base/timer.h"

namespace glove {

// Returns true to stop the work, which then fails with interrupted_error(). It is called only on the thread
// that called the function it was passed to, at least every 10 ms of work, and never while a lock is held,
// because it may run the host's code, which may call back into the library. If empty, the work is never
// stopped.
using InterruptCheck = std::function<bool()>;

// The error of every function that was stopped.
inline Error interrupted_error() {
  return {ErrorCode::kInterrupted, "interrupted"};
}

// Returns interrupted_error() if `interrupted` says so.
inline Status check_interrupt(const InterruptCheck& interrupted) {
  if (interrupted && interrupted()) return interrupted_error();
  return {};
}

// Calls an InterruptCheck at the first stop(), and then only when its last answer is at least 2 ms old.
// stop() costs about 25 ns, so a loop may call it in every iteration. Once true, it stays true.
class InterruptPoll {
 public:
  static constexpr std::chrono::milliseconds kInterval{2};

  // `interrupted` must outlive the poll.
  explicit InterruptPoll(const InterruptCheck& interrupted) : interrupted_(interrupted) {}

  // Returns true if the work must stop.
  bool stop() {
    if (stopped_ || !interrupted_) return stopped_;
    if (asked_ && since_asked_.microseconds() < 1e3 * kInterval.count()) return false;
    asked_ = true;
    stopped_ = interrupted_();
    since_asked_.lap();
    return stopped_;
  }

  // Returns true if stop() has returned true. Does not call the check.
  bool stopped() const { return stopped_; }

  // Returns interrupted_error() if the work must stop.
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
