#include "model/word_set.h"

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/thread_pool.h"
#include "model/vocabulary.h"

namespace glove {
namespace {

uint64_t mix(uint64_t value) {
  value *= 0x9E3779B97F4A7C15u;
  return value ^ (value >> 32);
}

// Returns the first eight bytes as a number with memcmp's order; shorter words are padded with zeros.
uint64_t prefix_of(std::string_view word) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; ++i)
    prefix = prefix << 8 | (i < word.size() ? static_cast<unsigned char>(word[i]) : 0u);
  return prefix;
}

// The first eight bytes of a word, and its id.
struct SortKey {
  uint64_t prefix;
  int32_t id;
};

// Sorts by the prefix only, one byte at a time starting with the last. `spare` must be of the same size.
void sort_by_prefix(std::span<SortKey> keys, std::span<SortKey> spare) {
  constexpr size_t kDigits = 8;
  std::array<std::array<uint32_t, 256>, kDigits> places{};
  for (const SortKey& key : keys)
    for (size_t digit = 0; digit < kDigits; ++digit) ++places[digit][key.prefix >> (8 * digit) & 0xFF];
  for (size_t digit = 0; digit < kDigits; ++digit) {
    auto& place = places[digit];
    std::exclusive_scan(place.begin(), place.end(), place.begin(), uint32_t{0});
    for (const SortKey& key : keys) spare[place[key.prefix >> (8 * digit) & 0xFF]++] = key;
    std::swap(keys, spare);
  }
}

// Sorts the ids of words: sorts chunks by their first bytes, then merges pairs of neighbouring runs until one
// is left. Every step is divided into chunks of a few milliseconds.
class WordSort {
 public:
  WordSort(const Vocabulary& words, int64_t count, int threads, const InterruptCheck& interrupted)
      : words_(words),
        threads_(threads),
        interrupted_(interrupted),
        keys_(static_cast<size_t>(count)),
        spare_(keys_.size()) {}

  Result<std::vector<int32_t>> run() {
    const auto sort = [this](int, int64_t first, int64_t) { sort_chunk(first); };
    GLOVE_RETURN_IF_ERROR(ThreadPool::for_pieces(threads_, size(), kChunkWords, interrupted_, sort));
    for (int64_t width = kChunkWords; width < size(); width *= 2, keys_.swap(spare_)) {
      const auto merge = [&](int, int64_t first, int64_t) { merge_chunk(first / kChunkWords, width); };
      GLOVE_RETURN_IF_ERROR(ThreadPool::for_pieces(threads_, size(), kChunkWords, interrupted_, merge));
    }
    std::vector<int32_t> ids(keys_.size());
    std::transform(keys_.begin(), keys_.end(), ids.begin(), [](const SortKey& key) { return key.id; });
    return ids;
  }

 private:
  static constexpr int64_t kChunkWords = int64_t{1} << 17;

  int64_t size() const { return static_cast<int64_t>(keys_.size()); }
  bool before(const SortKey& a, const SortKey& b) const {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const auto order = words_.word(a.id) <=> words_.word(b.id);
    return order != 0 ? order < 0 : a.id < b.id;
  }

  void sort_chunk(int64_t begin) {
    const int64_t end = std::min(size(), begin + kChunkWords);
    for (int64_t id = begin; id < end; ++id)
      keys_[static_cast<size_t>(id)] = {prefix_of(words_.word(id)), static_cast<int32_t>(id)};
    const auto count = static_cast<size_t>(end - begin);
    const auto sorted = std::span(keys_).subspan(static_cast<size_t>(begin), count);
    sort_by_prefix(sorted, std::span(spare_).subspan(static_cast<size_t>(begin), count));
    for (auto run = sorted.begin(); run != sorted.end();) {
      const auto stop =
          std::find_if(run, sorted.end(), [&](const SortKey& key) { return key.prefix != run->prefix; });
      if (stop - run > 1)
        std::sort(run, stop, [this](const SortKey& a, const SortKey& b) { return before(a, b); });
      run = stop;
    }
  }

  // Merges the keys of one chunk with the keys of the neighbouring run that belong between them, into their
  // places in `spare_`. REQUIRES: runs of `width` keys, a multiple of kChunkWords, are sorted.
  void merge_chunk(int64_t chunk, int64_t width) {
    const auto less = [this](const SortKey& a, const SortKey& b) { return before(a, b); };
    const int64_t begin = chunk * kChunkWords;
    const int64_t end = std::min(size(), begin + kChunkWords);
    const int64_t left = begin / (2 * width) * (2 * width);
    const int64_t middle = std::min(size(), left + width);
    const int64_t right_end = std::min(size(), middle + width);
    if (begin >= middle) return;  // the chunks of the left run do the work
    // Returns where the key at `place` of the left run would be inserted in the right one.
    const auto split = [&](int64_t place) -> int64_t {
      if (place == left) return middle;
      if (place == middle) return right_end;
      return std::lower_bound(keys_.begin() + middle, keys_.begin() + right_end,
                              keys_[static_cast<size_t>(place)], less) -
             keys_.begin();
    };
    const int64_t from = split(begin);
    const int64_t to = split(end);
    std::merge(keys_.begin() + begin, keys_.begin() + end, keys_.begin() + from, keys_.begin() + to,
               spare_.begin() + begin + (from - middle), less);
  }

  const Vocabulary& words_;
  const int threads_;
  const InterruptCheck& interrupted_;
  std::vector<SortKey> keys_;
  std::vector<SortKey> spare_;
};

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

Result<std::vector<int32_t>> sorted_word_ids(std::span<const char> word_bytes,
                                             std::span<const int64_t> word_offsets, int threads,
                                             const InterruptCheck& interrupted) {
  const Vocabulary words(word_bytes, word_offsets, {});
  const int64_t count = word_offsets.empty() ? 0 : static_cast<int64_t>(word_offsets.size()) - 1;
  return WordSort(words, count, thread_count(threads), interrupted).run();
}

}  // namespace glove
