#include "model/word_order.h"

#include <algorithm>
#include <array>
#include <compare>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/cores.h"
#include "base/parallel.h"
#include "model/vocabulary.h"

namespace glove {
namespace {

// The first eight bytes as a number that orders as memcmp does; shorter words are padded with zeros.
uint64_t prefix_of(std::string_view word) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; ++i)
    prefix = prefix << 8 | (i < word.size() ? static_cast<unsigned char>(word[i]) : 0u);
  return prefix;
}

// A word's first eight bytes, and its id.
struct SortKey {
  uint64_t prefix;
  int32_t id;
};

// Sorts by the prefix alone, one byte at a time from the last. `spare` has room for as many.
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

}  // namespace

std::vector<int32_t> sorted_word_ids(std::span<const char> word_bytes, std::span<const int64_t> word_offsets,
                                     int threads) {
  constexpr int64_t kPieceWords = 50'000;  // worth a thread
  const Vocabulary words(word_bytes, word_offsets, {});
  const int64_t count = word_offsets.empty() ? 0 : static_cast<int64_t>(word_offsets.size()) - 1;
  const auto before = [&words](const SortKey& a, const SortKey& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const auto order = words.word(a.id) <=> words.word(b.id);
    return order != 0 ? order < 0 : a.id < b.id;
  };
  const int64_t pieces = std::min<int64_t>(threads > 0 ? threads : usable_cores(), count / kPieceWords + 1);
  const auto begin_of = [&](int64_t piece) { return count * std::min(piece, pieces) / pieces; };
  std::vector<SortKey> keys(static_cast<size_t>(count));
  std::vector<SortKey> spare(keys.size());
  run_in_parallel(threads, pieces, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      const int64_t begin = begin_of(piece);
      const int64_t end = begin_of(piece + 1);
      for (int64_t id = begin; id < end; ++id)
        keys[static_cast<size_t>(id)] = {prefix_of(words.word(id)), static_cast<int32_t>(id)};
      const auto length = static_cast<size_t>(end - begin);
      const auto sorted = std::span(keys).subspan(static_cast<size_t>(begin), length);
      sort_by_prefix(sorted, std::span(spare).subspan(static_cast<size_t>(begin), length));
      for (auto run = sorted.begin(); run != sorted.end();) {
        const auto stop =
            std::find_if(run, sorted.end(), [&](const SortKey& key) { return key.prefix != run->prefix; });
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
  std::transform(keys.begin(), keys.end(), ids.begin(), [](const SortKey& key) { return key.id; });
  return ids;
}

}  // namespace glove
