// Lets the threads of one computation stop together.
#pragma once

#include <atomic>

#include "base/cancel.h"

namespace glove {

// Lets all threads of ThreadPool::run stop inside a long chunk: the calling thread asks an InterruptCheck,
// and the others hear of its answer.
class ThreadInterrupt {
 public:
  // `interrupted` must outlive the object.
  explicit ThreadInterrupt(const InterruptCheck& interrupted) : poll_(interrupted) {}

  // Returns the check for the thread that has this slot; slot 0 is the calling thread. The object must
  // outlive it.
  InterruptCheck of(int slot) {
    if (slot != 0) return [this] { return stopped(); };
    return [this] {
      if (poll_.stop()) stopped_ = true;
      return stopped();
    };
  }

  // Returns true if the work must stop.
  bool stopped() const { return stopped_; }

 private:
  InterruptPoll poll_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace glove
