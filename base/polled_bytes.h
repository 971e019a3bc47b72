// The bytes of a text for a parser that takes iterators, so that it can be interrupted at any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/cancel.h"

namespace glove {

// A place in a text. Moving to the next one throws Interrupted if the poll says so: a string or a number may
// be as long as the text. (If the bytes only ended early, the parser would make a message of that string.)
// The text and the poll outlive it.
class PolledBytes {
 public:
  struct Interrupted {};

  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  PolledBytes(const char* at, InterruptPoll& poll) : at_(at), poll_(&poll) {}

  reference operator*() const { return *at_; }
  PolledBytes& operator++() {
    ++at_;
    if (reinterpret_cast<uintptr_t>(at_) % kBytesPerPoll == 0 && poll_->stop()) throw Interrupted();
    return *this;
  }
  bool operator==(const PolledBytes& other) const { return at_ == other.at_; }

 private:
  static constexpr uintptr_t kBytesPerPoll = 4096;

  const char* at_;
  InterruptPoll* poll_;
};

}  // namespace glove
