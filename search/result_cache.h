// Results that took long to compute, kept for those who ask for them again.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "base/fork_safe_mutex.h"

namespace glove {

// The results used last, up to kMostBytes of them (one that is larger is kept alone). Results are immutable
// and shared: who holds one keeps it alive. Thread-safe.
class ResultCache {
 public:
  static constexpr int64_t kMostBytes = int64_t{256} << 20;

  // nullptr if there is none. REQUIRES: a result of this key was added as a Result.
  template <class Result>
  std::shared_ptr<const Result> find(std::string_view key) {
    return std::static_pointer_cast<const Result>(find_any(key));
  }

  // Replaces a result of the same key. `key` must name everything that the result depends on, beginning with
  // what kind of result it is; `bytes`: the memory that it takes.
  void add(std::string key, std::shared_ptr<const void> result, int64_t bytes);

  int64_t bytes() const;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const void> result;
    int64_t bytes;
  };
  std::shared_ptr<const void> find_any(std::string_view key);

  mutable ForkSafeMutex mutex_;  // guards what follows
  std::list<Entry> entries_;     // the one used last comes first
  int64_t bytes_ = 0;
};

}  // namespace glove
