#include "live/code_cache.h"

#include <algorithm>

namespace glove::live {
namespace {

// The blocks of a segment that as many scans of segments have not read may be dropped.
constexpr int64_t kScansUntilStale = 64;

int64_t size_of(const CodeBlock& block) {
  return static_cast<int64_t>(block->capacity());
}

}  // namespace

void CodeCache::begin_scan(const Segment& segment) {
  const Lock lock(mutex_);
  kept_[&segment].last_scan = ++scans_;
}

CodeBlock CodeCache::find(const Segment& segment, int64_t number) const {
  const Lock lock(mutex_);
  const auto kept = kept_.find(&segment);
  if (kept == kept_.end()) return nullptr;
  const auto found = kept->second.blocks.find(number);
  return found == kept->second.blocks.end() ? nullptr : found->second;
}

void CodeCache::keep(const Segment& segment, int64_t number, const CodeBlock& block, int64_t most) {
  std::map<int64_t, CodeBlock> dropped, displaced;  // freed when no lock is held
  const Lock lock(mutex_);
  auto& own = kept_[&segment].blocks;
  while (number < 0 && bytes_ + size_of(block) > most && !own.empty() && own.rbegin()->first >= 0) {
    bytes_ -= size_of(own.rbegin()->second);
    displaced.insert(own.extract(std::prev(own.end())));
  }
  if (bytes_ + size_of(block) > most) {
    const auto oldest = std::min_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
      return !a.second.blocks.empty() && (b.second.blocks.empty() || a.second.last_scan < b.second.last_scan);
    });
    if (oldest == kept_.end()) return;
    const bool is_stale = oldest->second.last_scan < scans_ - kScansUntilStale;
    if (!is_stale && bytes_ <= most) return;
    std::swap(dropped, oldest->second.blocks);
    for (const auto& [place, old] : dropped) bytes_ -= size_of(old);
    if (bytes_ + size_of(block) > most) return;
  }
  if (kept_[&segment].blocks.emplace(number, block).second) bytes_ += size_of(block);
}

void CodeCache::forget(const Segment& segment) {
  std::map<int64_t, CodeBlock> dropped;
  const Lock lock(mutex_);
  const auto kept = kept_.find(&segment);
  if (kept == kept_.end()) return;
  std::swap(dropped, kept->second.blocks);
  for (const auto& [place, old] : dropped) bytes_ -= size_of(old);
  kept_.erase(kept);
}

}  // namespace glove::live
