// Lets one thread at a time do long work, while the others wait and poll their own interrupts.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "base/require.h"
#include "base/status.h"
#include "base/system_calls.h"

namespace glove {

// Holds no mutex, so in a child that is forked while a thread of its parent is inside, the turnstile is free.
// Thread-safe.
class Turnstile {
 public:
  // Waits until no thread is inside, then enters. `interrupted` is called on the calling thread about every
  // millisecond while it waits, with nothing held. Errors: an interrupt, and `already` if this thread is
  // inside, as can happen when an interrupt check runs the host's code.
  Status enter(const InterruptCheck& interrupted, Error already) {
    const uint64_t self = this_thread();
    for (;;) {
      uint64_t inside = inside_.load(std::memory_order_acquire);
      if (inside == self) return already;
      const bool is_free = inside == 0 || inside >> 32 != self >> 32;
      if (is_free && inside_.compare_exchange_strong(inside, self, std::memory_order_acq_rel)) return {};
      if (is_free) continue;
      if (interrupted && interrupted()) return interrupted_error();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // REQUIRES: this thread has entered.
  void leave() {
    GLOVE_REQUIRE(inside_.load(std::memory_order_relaxed) != 0);
    inside_.store(0, std::memory_order_release);
  }

  // Returns true if a thread of this process is inside.
  bool occupied() const {
    const uint64_t inside = inside_.load(std::memory_order_acquire);
    return inside != 0 && inside >> 32 == static_cast<uint64_t>(system_calls::process_number());
  }

 private:
  // The process id in the upper half, the thread id in the lower half.
  static uint64_t this_thread() {
    return static_cast<uint64_t>(system_calls::process_number()) << 32 | system_calls::thread_number();
  }

  std::atomic<uint64_t> inside_ = 0;
};

}  // namespace glove
