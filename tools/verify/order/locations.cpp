#include "order/locations.h"

namespace glove::verify {

uint32_t Locations::number(const Place& place) {
  const auto [found, added] = numbers_.try_emplace(key_of(place), learned_.next_location);
  if (added) spans_[learned_.next_location++] = span_of(place, 0);
  objects_.insert(place.space == Space::kShared ? 0 : place.object);
  return found->second;
}

std::optional<uint32_t> Locations::known_number(const Place& place) const {
  const auto found = numbers_.find(key_of(place));
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

MemorySpan Locations::span(uint32_t number) const {
  const auto found = spans_.find(number);
  return found == spans_.end() ? MemorySpan{} : found->second;
}

void Locations::forget(const Place& place, unsigned bytes, const BlockState& state, const Warp& warp,
                       int lane) {
  if (place.kind == Place::kNumber) {
    numbers_.erase(key_of(place));
    return;
  }
  const bool shared = place.space == Space::kShared;
  if (objects_.count(shared ? 0 : place.object) == 0) return;
  const Interval range =
      shared ? Reasoner(table_, position(state, warp, lane)).exact_range(place.address) : Interval{};
  std::erase_if(numbers_, [&](const auto& entry) {
    const GlobalPlace& key = entry.first;
    if (!shared) return key.form != 0 && places_.object_of({0, key.form}) == place.object;
    const Wide at = static_cast<Wide>(key.granule & ~(uint64_t{1} << 63));
    return key.form == 0 && at + 7 >= range.lo && at < range.hi + bytes;
  });
}

}  // namespace glove::verify
