#include "model/word_set.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace glove {
namespace {

uint64_t mix(uint64_t value) {
  value *= 0x9E3779B97F4A7C15u;
  return value ^ (value >> 32);
}

}  // namespace

// Words come from a file and not from an adversary on a network, so the hash favours speed over
// unpredictability. Because the table is at most half full, probes are short for all but crafted input.
uint32_t WordSet::hash(std::string_view word) {
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

size_t WordSet::find_slot(std::string_view target, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot].id >= 0 && (slots_[slot].hash != hash || word(slots_[slot].id) != target))
    slot = (slot + 1) & mask;
  return slot;
}

void WordSet::rehash(size_t slots) {
  std::vector<Slot> old(slots);
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& entry : old) {
    if (entry.id < 0) continue;
    size_t slot = entry.hash & mask;
    while (slots_[slot].id >= 0) slot = (slot + 1) & mask;
    slots_[slot] = entry;
  }
}

void WordSet::reserve(int64_t words) {
  const size_t slots = std::bit_ceil(2 * (static_cast<size_t>(words) + 1));
  if (slots > slots_.size()) rehash(slots);
  offsets_.reserve(static_cast<size_t>(words) + 1);
}

bool WordSet::insert(std::string_view target, uint32_t hash) {
  if (2 * (offsets_.size() + 1) > slots_.size()) rehash(std::max<size_t>(1024, slots_.size() * 2));
  const size_t slot = find_slot(target, hash);
  if (slots_[slot].id >= 0) return false;
  append(target);
  slots_[slot] = {hash, static_cast<int32_t>(size() - 1)};
  return true;
}

void WordSet::append(std::string_view word) {
  bytes_.insert(bytes_.end(), word.begin(), word.end());
  offsets_.push_back(static_cast<int64_t>(bytes_.size()));
}

bool WordSet::contains(std::string_view target) const {
  return !slots_.empty() && slots_[find_slot(target, hash(target))].id >= 0;
}

Result<std::vector<int32_t>> WordSet::sorted_ids(int threads, const InterruptCheck& interrupted) const {
  return sorted_word_ids(bytes_, offsets_, threads, interrupted);
}

}  // namespace glove
