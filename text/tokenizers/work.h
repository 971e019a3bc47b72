// The interruption of loops over a text.
#pragma once

#include <cstdint>

#include "base/cancel.h"

namespace glove::tokenizers {

// A loop over a text calls stop() in each iteration and returns at once if it is true. Whoever called the
// loop then returns interrupted_error().
class TextWork {
 public:
  explicit TextWork(InterruptPoll& poll) : poll_(poll) {}
  bool stop() { return (++count_ & 0xfff) == 0 && poll_.stop(); }
  bool stopped() const { return poll_.stopped(); }

 private:
  InterruptPoll& poll_;
  uint32_t count_ = 0;
};

}  // namespace glove::tokenizers
