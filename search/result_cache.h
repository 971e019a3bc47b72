// Results that took long to compute, kept for callers that request them again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"

namespace glove {

// Keeps the most recently used results, up to kMostResults and kMostBytes in total (a larger one is kept
// alone). Results are immutable and shared: every holder keeps its result alive. Thread-safe.
class ResultCache {
 public:
  static constexpr int64_t kMostBytes = int64_t{256} << 20;
  static constexpr size_t kMostResults = 256;  // a search compares the key of each

  // Returns nullptr if there is none. REQUIRES: a result with this key was added as a Value.
  template <class Value>
  std::shared_ptr<const Value> find(std::string_view key) {
    return std::static_pointer_cast<const Value>(find_any(key));
  }

  // The same, but if there is none, adds what make() returns, a Result of a Value with the member bytes().
  template <class Value, class Make>
  Result<std::shared_ptr<const Value>> find_or_add(const std::string& key, const Make& make) {
    if (auto found = find<Value>(key); found != nullptr) return found;
    GLOVE_ASSIGN_OR_RETURN(Value value, make());
    auto added = std::make_shared<const Value>(std::move(value));
    add(key, added, added->bytes());
    return std::shared_ptr<const Value>(std::move(added));
  }

  // Replaces a result with the same key. `key` must name everything that the result depends on, beginning
  // with the kind of result. `bytes` is the memory that the result uses.
  void add(std::string key, std::shared_ptr<const void> result, int64_t bytes);

  int64_t bytes() const;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const void> result;
    int64_t bytes;
  };
  std::shared_ptr<const void> find_any(std::string_view key);

  mutable ForkSafeMutex mutex_;
  std::list<Entry> entries_ GLOVE_GUARDED_BY(mutex_);  // most recently used first
  int64_t bytes_ GLOVE_GUARDED_BY(mutex_) = 0;
};

// The memory that the answers and ranks kept by the connections of an engine share. Each cache may use an
// equal share, and all of them together no more than the limit. A cache returns what exceeds its share when
// it is next used. Thread-safe and lock-free.
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

// What one cache has taken of the budget, all of which it gives back in the end. One thread at a time may use
// it.
class CacheShare {
 public:
  // `most` limits this cache, whatever the others take. The budget must outlive it.
  CacheShare(CacheBudget& budget, size_t most) : budget_(budget), most_(most) {}
  ~CacheShare() {
    give_back(bytes_);
    if (joined_) budget_.leave();
  }
  CacheShare(const CacheShare&) = delete;
  CacheShare& operator=(const CacheShare&) = delete;

  size_t bytes() const { return bytes_; }
  // Returns the bytes that the cache may have now.
  size_t most() const { return std::min(most_, budget_.share()); }

  // Takes this many bytes more. Until there is room calls drop_oldest(), which returns false if the cache has
  // nothing that it could drop; take() then returns false. Only a cache that has taken something claims a
  // share.
  template <class DropOldest>
  bool take(size_t bytes, const DropOldest& drop_oldest) {
    if (bytes > most()) return false;
    if (!std::exchange(joined_, true)) budget_.join();
    while (bytes_ + bytes > most() || !budget_.take(bytes))
      if (!drop_oldest()) return false;
    bytes_ += bytes;
    return true;
  }
  void give_back(size_t bytes) {
    bytes_ -= bytes;
    budget_.give_back(bytes);
  }

 private:
  CacheBudget& budget_;
  const size_t most_;
  size_t bytes_ = 0;
  bool joined_ = false;
};

}  // namespace glove
