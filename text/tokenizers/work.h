// What ends loops over a text early: an interruption, or a text that grows too large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace glove::tokenizers {

// A loop over a text calls stop() in each iteration and returns at once if it is true, which it then stays,
// so that the loops around end too. Whoever called the outermost then returns status().
class TextWork {
 public:
  // `bytes` is the length of the text.
  TextWork(InterruptPoll& poll, size_t bytes) : poll_(poll), most_bytes_(kLeastBytes + kMostGrowth * bytes) {}

  bool stop() {
    if ((++count_ & 0xfff) == 0 && poll_.stop()) stopped_ = true;
    return stopped_;
  }
  bool stopped() const { return stopped_; }
  uint32_t iterations() const { return count_; }  // how often stop() was called
  // A step that can make a text longer calls this with its length, at least once per kLeastBytes that it
  // appends. Returns true if the work must stop. Each normalization form makes a text at most 11 times as
  // long, so only a chain of steps can reach the limit.
  bool is_too_large(size_t bytes) {
    if (bytes > most_bytes_) too_large_ = stopped_ = true;
    return stopped_;
  }

  // The error of work that was stopped.
  Status status() const {
    if (too_large_)
      return {ErrorCode::kInvalidArgument,
              "the normalizer and pre_tokenizer of the model's tokenizer.json make the text longer than " +
                  std::to_string(most_bytes_) +
                  " bytes, which is the limit for its length; use another model"};
    return stopped_ ? Status(interrupted_error()) : Status();
  }

 private:
  static constexpr size_t kLeastBytes = size_t{16} << 20;
  static constexpr size_t kMostGrowth = 16;

  InterruptPoll& poll_;
  size_t most_bytes_;
  bool too_large_ = false;
  bool stopped_ = poll_.stopped();
  uint32_t count_ = 0;
};

}  // namespace glove::tokenizers
