// The memory that the setting "index_memory" limits.
#pragma once

#include <atomic>
#include <cstdint>

namespace glove::live {

// What one object of the process keeps in memory for searches, counted while it lives. One thread at a
// time may use an object.
class LoadedBytes {
 public:
  LoadedBytes() = default;
  explicit LoadedBytes(int64_t bytes) { set(bytes); }
  LoadedBytes(const LoadedBytes&) = delete;
  LoadedBytes& operator=(const LoadedBytes&) = delete;
  ~LoadedBytes() { set(0); }

  void set(int64_t bytes) {
    all_ += bytes - bytes_;
    bytes_ = bytes;
  }

  // Of all segments, in whole or in outline, and of all lists and their calibrations. The blocks of codes
  // that the process keeps (live/code_cache.h) get what these leave.
  static int64_t all() { return all_; }

 private:
  static inline std::atomic<int64_t> all_ = 0;

  int64_t bytes_ = 0;
};

}  // namespace glove::live
