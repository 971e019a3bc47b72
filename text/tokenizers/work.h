// What ends loops over a text early: an interruption, or a text that grows too large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/cancel.h"

namespace glove::tokenizers {

// A loop over a text calls stop() in each iteration and returns at once if it is true. Whoever called the
// loop then returns status().
class TextWork {
 public:
  // `bytes` is the length of the text.
  TextWork(InterruptPoll& poll, size_t bytes) : poll_(poll), most_bytes_(kLeastBytes + kMostGrowth * bytes) {}

  bool stop() { return (++count_ & 0xfff) == 0 && (too_large_ || poll_.stop()); }
  bool stopped() const { return too_large_ || poll_.stopped(); }
  // A step that can make a text longer calls this with its length, at least once per kLeastBytes that it
  // appends. Returns true if the work must stop. Each normalization form makes a text at most 11 times as
  // long, so only a chain of steps can reach the limit.
  bool is_too_large(size_t bytes) { return too_large_ = too_large_ || bytes > most_bytes_; }

  // The error of work that was stopped.
  Status status() const {
    if (too_large_)
      return {ErrorCode::kInvalidArgument,
              "the normalizer and pre_tokenizer of the model's tokenizer.json make the text longer than " +
                  std::to_string(most_bytes_) +
                  " bytes, which is the limit for its length; use another model"};
    return poll_.stopped() ? Status(interrupted_error()) : Status();
  }

 private:
  static constexpr size_t kLeastBytes = size_t{16} << 20;
  static constexpr size_t kMostGrowth = 16;

  InterruptPoll& poll_;
  size_t most_bytes_;
  bool too_large_ = false;
  uint32_t count_ = 0;
};

}  // namespace glove::tokenizers
