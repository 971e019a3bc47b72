#include "search/result_cache.h"

#include <iterator>

namespace glove {

std::shared_ptr<const void> ResultCache::find_any(std::string_view key) {
  const Lock lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const Entry& e) { return e.key == key; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->result;
}

void ResultCache::add(std::string key, std::shared_ptr<const void> result, int64_t bytes) {
  std::list<Entry> dropped;  // freed after the lock is released
  const Lock lock(mutex_);
  const auto old = std::ranges::find_if(entries_, [&](const Entry& e) { return e.key == key; });
  if (old != entries_.end()) {
    bytes_ -= old->bytes;
    dropped.splice(dropped.begin(), entries_, old);
  }
  entries_.push_front({std::move(key), std::move(result), bytes});
  bytes_ += bytes;
  while ((bytes_ > kMostBytes && entries_.size() > 1) || entries_.size() > kMostResults) {
    bytes_ -= entries_.back().bytes;
    dropped.splice(dropped.begin(), entries_, std::prev(entries_.end()));
  }
}

int64_t ResultCache::bytes() const {
  const Lock lock(mutex_);
  return bytes_;
}

}  // namespace glove
