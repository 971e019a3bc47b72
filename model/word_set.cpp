#include "model/word_set.h"
#include "base/cores.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/parallel.h"

namespace glove {
namespace {

uint64_t mix(uint64_t value) {
  value *= 0x9E3779B97F4A7C15u;
  return value ^ (value >> 32);
}

// The first eight bytes as a number that orders as memcmp does; shorter words are padded with zeros.
uint64_t prefix_of(std::string_view word) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; ++i)
    prefix = prefix << 8 | (i < word.size() ? static_cast<unsigned char>(word[i]) : 0u);
  return prefix;
}

// A word's first eight bytes, and its id.
struct Key {
  uint64_t prefix;
  int32_t id;
};

// Sorts by the prefix alone, one byte at a time from the last. `spare` has room for as many.
void sort_by_prefix(std::span<Key> keys, std::span<Key> spare) {
  constexpr size_t kDigits = 8;
  std::array<std::array<uint32_t, 256>, kDigits> places{};
  for (const Key& key : keys)
    for (size_t digit = 0; digit < kDigits; ++digit) ++places[digit][key.prefix >> (8 * digit) & 0xFF];
  for (size_t digit = 0; digit < kDigits; ++digit) {
    auto& place = places[digit];
    std::exclusive_scan(place.begin(), place.end(), place.begin(), uint32_t{0});
    for (const Key& key : keys) spare[place[key.prefix >> (8 * digit) & 0xFF]++] = key;
    std::swap(keys, spare);
  }
}

}  // namespace

// Of words from a file, not from an adversary on a network: speed over unpredictability. The probe
// length is bounded by the table's half-emptiness for all but crafted input.
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
  bytes_.insert(bytes_.end(), target.begin(), target.end());
  offsets_.push_back(static_cast<int64_t>(bytes_.size()));
  slots_[slot] = {hash, static_cast<int32_t>(size() - 1)};
  return true;
}

bool WordSet::contains(std::string_view target) const {
  return !slots_.empty() && slots_[find_slot(target, hash(target))].id >= 0;
}

std::vector<int32_t> WordSet::sorted_ids(int threads) const {
  constexpr int64_t kPieceWords = 50'000;  // worth a thread
  const auto before = [this](const Key& a, const Key& b) {
    return a.prefix != b.prefix ? a.prefix < b.prefix : word(a.id) < word(b.id);
  };
  const int64_t pieces = std::min<int64_t>(threads > 0 ? threads : usable_cores(), size() / kPieceWords + 1);
  const auto begin_of = [&](int64_t piece) { return size() * std::min(piece, pieces) / pieces; };
  std::vector<Key> keys(static_cast<size_t>(size()));
  std::vector<Key> spare(keys.size());
  run_in_parallel(threads, pieces, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      const int64_t begin = begin_of(piece);
      const int64_t end = begin_of(piece + 1);
      for (int64_t id = begin; id < end; ++id)
        keys[static_cast<size_t>(id)] = {prefix_of(word(id)), static_cast<int32_t>(id)};
      const auto count = static_cast<size_t>(end - begin);
      const auto sorted = std::span(keys).subspan(static_cast<size_t>(begin), count);
      sort_by_prefix(sorted, std::span(spare).subspan(static_cast<size_t>(begin), count));
      for (auto run = sorted.begin(); run != sorted.end();) {
        const auto stop =
            std::find_if(run, sorted.end(), [&](const Key& key) { return key.prefix != run->prefix; });
        if (stop - run > 1) std::sort(run, stop, before);
        run = stop;
      }
    }
  });
  for (int64_t width = 1; width < pieces; width *= 2, keys.swap(spare))
    run_in_parallel(threads, (pieces + 2 * width - 1) / (2 * width), [&](int64_t first, int64_t last) {
      for (int64_t pair = first; pair < last; ++pair) {
        const auto at = [&](int64_t piece) { return keys.begin() + begin_of(piece); };
        const int64_t left = pair * 2 * width;
        std::merge(at(left), at(left + width), at(left + width), at(left + 2 * width),
                   spare.begin() + begin_of(left), before);
      }
    });
  std::vector<int32_t> ids(keys.size());
  std::transform(keys.begin(), keys.end(), ids.begin(), [](const Key& key) { return key.id; });
  return ids;
}

}  // namespace glove
