// The memory that the answers and ranks kept by the connections of an engine share.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace glove {

// Each cache may use an equal share, and all of them together no more than the limit. A cache returns what
// exceeds its share when it is next used. Thread-safe and lock-free.
class CacheBudget {
 public:
  static constexpr size_t kDefaultBytes = size_t{64} << 20;

  explicit CacheBudget(size_t limit = kDefaultBytes) : limit_(limit) {}

  // Every cache joins once, and leaves after it has returned all its bytes.
  void join() { ++caches_; }
  void leave() { --caches_; }

  size_t share() const { return limit_ / std::max<size_t>(1, caches_.load(std::memory_order_relaxed)); }

  // Returns false, and takes nothing, if there is not enough left.
  bool take(size_t bytes) {
    size_t used = used_.load(std::memory_order_relaxed);
    while (bytes <= limit_ && used <= limit_ - bytes)
      if (used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed)) return true;
    return false;
  }
  void give_back(size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const size_t limit_;
  std::atomic<size_t> used_ = 0;
  std::atomic<size_t> caches_ = 0;
};

}  // namespace glove
