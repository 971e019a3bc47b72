// Lets one thread at a time do work that takes long, while the others wait and heed their own interrupts.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "base/cancel.h"
#include "base/status.h"

namespace glove {

// Holds no mutex, so a child that is forked while a thread of its parent is inside finds the turnstile free.
// Thread-safe.
class Turnstile {
 public:
  enum class Entry { kEntered, kInterrupted, kAlreadyInside };

  // Waits until nobody is inside, then enters. `interrupted` is asked on the calling thread about every
  // millisecond while it waits, with nothing held. kAlreadyInside: this thread is, as may be when an
  // interrupt check runs the host's code.
  Entry enter(const InterruptCheck& interrupted) {
    const uint64_t self = this_thread();
    for (;;) {
      uint64_t inside = inside_.load(std::memory_order_acquire);
      if (inside == self) return Entry::kAlreadyInside;
      const bool is_free = inside == 0 || inside >> 32 != self >> 32;
      if (is_free && inside_.compare_exchange_strong(inside, self, std::memory_order_acq_rel))
        return Entry::kEntered;
      if (is_free) continue;
      if (interrupted && interrupted()) return Entry::kInterrupted;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // REQUIRES: this thread entered.
  void leave() { inside_.store(0, std::memory_order_release); }

  // Whether a thread of this process is inside.
  bool occupied() const {
    const uint64_t inside = inside_.load(std::memory_order_acquire);
    return inside != 0 && inside >> 32 == static_cast<uint64_t>(getpid());
  }

 private:
  // The process in the upper half, the thread in the lower.
  static uint64_t this_thread() {
    return static_cast<uint64_t>(getpid()) << 32 | static_cast<uint32_t>(gettid());
  }

  std::atomic<uint64_t> inside_ = 0;
};

// Leaves at the end of its scope. REQUIRES: this thread entered.
class TurnstileExit {
 public:
  explicit TurnstileExit(Turnstile& turnstile) : turnstile_(turnstile) {}
  ~TurnstileExit() { turnstile_.leave(); }
  TurnstileExit(const TurnstileExit&) = delete;
  TurnstileExit& operator=(const TurnstileExit&) = delete;

 private:
  Turnstile& turnstile_;
};

}  // namespace glove
