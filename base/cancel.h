// How a caller stops work that takes long.
#pragma once

#include <functional>

#include "base/status.h"

namespace glove {

// Returns true to stop the work, which then fails with kInterrupted. Asked only on the thread that called
// the function it was given to, at least every 10 ms of work. Empty: never stops.
using InterruptCheck = std::function<bool()>;

// kInterrupted if `interrupted` says so.
inline Status check_interrupt(const InterruptCheck& interrupted) {
  if (interrupted && interrupted()) return Status(ErrorCode::kInterrupted, "interrupted");
  return {};
}

}  // namespace glove
