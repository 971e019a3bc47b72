#include "live/segment_cache.h"

#include <functional>
#include <map>
#include <utility>

#include "base/fork_safe_mutex.h"

namespace glove::live {
namespace {

struct SharedSegments {
  ForkSafeMutex mutex;
  std::map<std::string, std::weak_ptr<const Segment>, std::less<>> by_key GLOVE_GUARDED_BY(mutex);
};

SharedSegments& shared_segments() {
  static SharedSegments* const instance = new SharedSegments;  // never freed: connections may outlive statics
  return *instance;
}

}  // namespace

SegmentPtr find_segment(std::string_view key) {
  const Lock lock(shared_segments().mutex);
  const auto found = shared_segments().by_key.find(key);
  return found == shared_segments().by_key.end() ? nullptr : found->second.lock();
}

SegmentPtr share_segment(std::string key, SegmentPtr segment) {
  SegmentPtr kept;
  {
    const Lock lock(shared_segments().mutex);
    std::erase_if(shared_segments().by_key, [](const auto& entry) { return entry.second.expired(); });
    auto& slot = shared_segments().by_key[std::move(key)];
    kept = slot.lock();
    if (kept == nullptr) {
      slot = segment;
      kept = std::move(segment);
    }
  }
  return kept;
}

}  // namespace glove::live
