// Keeps the host's signal handlers off the library's threads.
#pragma once

#include "base/system_calls.h"

namespace glove {

// Hold one while starting a thread, which inherits the mask. Signals that a thread raises by its own actions
// stay unblocked.
class BlockedSignals {
 public:
  BlockedSignals() = default;
  ~BlockedSignals() { system_calls::restore_signals(saved_); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  const system_calls::SignalMask saved_ = system_calls::block_signals();
};

}  // namespace glove
