#include "loader/word_set.h"

#include <algorithm>
#include <cstring>

namespace glove {
namespace {

uint64_t mix(uint64_t value) {
  value *= 0x9E3779B97F4A7C15u;
  return value ^ (value >> 32);
}

// Of words from a file, not from an adversary on a network: speed over unpredictability. The probe
// length is bounded by the table's half-emptiness for all but crafted input.
uint32_t hash_of(std::string_view word) {
  uint64_t hash = mix(word.size());
  size_t i = 0;
  for (; i + 8 <= word.size(); i += 8) {
    uint64_t chunk;
    std::memcpy(&chunk, word.data() + i, 8);
    hash = mix(hash ^ chunk);
  }
  uint64_t tail = 0;
  std::memcpy(&tail, word.data() + i, word.size() - i);
  hash = mix(hash ^ tail);
  return static_cast<uint32_t>(hash ^ (hash >> 29));
}

// The first eight bytes as a number that orders as memcmp does; shorter words are padded with zeros.
uint64_t prefix_of(std::string_view word) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; ++i)
    prefix = prefix << 8 | (i < word.size() ? static_cast<unsigned char>(word[i]) : 0u);
  return prefix;
}

}  // namespace

size_t WordSet::find_slot(std::string_view target, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot].id >= 0 && (slots_[slot].hash != hash || word(slots_[slot].id) != target))
    slot = (slot + 1) & mask;
  return slot;
}

void WordSet::grow() {
  std::vector<Slot> old(std::max<size_t>(1024, slots_.size() * 2));
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& entry : old) {
    if (entry.id < 0) continue;
    size_t slot = entry.hash & mask;
    while (slots_[slot].id >= 0) slot = (slot + 1) & mask;
    slots_[slot] = entry;
  }
}

bool WordSet::insert(std::string_view target) {
  if (2 * (offsets_.size() + 1) > slots_.size()) grow();
  const uint32_t hash = hash_of(target);
  const size_t slot = find_slot(target, hash);
  if (slots_[slot].id >= 0) return false;
  bytes_.insert(bytes_.end(), target.begin(), target.end());
  offsets_.push_back(static_cast<int64_t>(bytes_.size()));
  slots_[slot] = {hash, static_cast<int32_t>(size() - 1)};
  return true;
}

void WordSet::prefetch(std::string_view target) const {
  if (!slots_.empty()) __builtin_prefetch(&slots_[hash_of(target) & (slots_.size() - 1)]);
}

bool WordSet::contains(std::string_view target) const {
  return !slots_.empty() && slots_[find_slot(target, hash_of(target))].id >= 0;
}

std::vector<int32_t> WordSet::sorted_ids() const {
  struct Key {
    uint64_t prefix;
    int32_t id;
  };
  std::vector<Key> keys(static_cast<size_t>(size()));
  for (size_t i = 0; i < keys.size(); ++i)
    keys[i] = {prefix_of(word(static_cast<int64_t>(i))), static_cast<int32_t>(i)};
  std::sort(keys.begin(), keys.end(), [this](const Key& a, const Key& b) {
    return a.prefix != b.prefix ? a.prefix < b.prefix : word(a.id) < word(b.id);
  });
  std::vector<int32_t> ids(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) ids[i] = keys[i].id;
  return ids;
}

}  // namespace glove
