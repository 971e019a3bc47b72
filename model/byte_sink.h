// A destination for bytes that are produced in order.
#pragma once

#include <span>

#include "base/huge_pages.h"
#include "base/status.h"

namespace glove {

// Appends bytes to the end of a vector or of a file. One thread at a time may use it.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Status append(std::span<const char> bytes) = 0;
};

// Keeps the bytes in memory. append() never fails, but may throw std::bad_alloc.
class MemorySink final : public ByteSink {
 public:
  Status append(std::span<const char> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return {};
  }

  // Returns the bytes so far as values of T. Valid until the next append().
  template <class T>
  std::span<const T> view() const {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

 private:
  HugePageBuffer<char> bytes_;  // aligned sufficiently for every T used here
};

// Returns the bytes of an array, as a view.
template <class T>
std::span<const char> bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace glove
