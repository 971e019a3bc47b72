#include "model/vocabulary.h"

#include <algorithm>
#include <cstring>

#include "base/concat.h"
#include "base/float_environment.h"
#include "base/float_from_chars.h"
#include "base/require.h"

namespace glove {
namespace {

constexpr std::string_view kEndOfSentence = "</s>";  // the only word without n-grams

// Whether a byte is one of UTF-8 that begins no character.
bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u;
}

// Adds a byte to a hash: FNV-1a of 32 bits, but for the extension of the sign.
uint32_t add_to_hash(uint32_t hash, char c) {
  return (hash ^ static_cast<uint32_t>(static_cast<signed char>(c))) * 16777619u;
}

void add_row(const char* row, std::span<float> sum) {
  for (size_t j = 0; j < sum.size(); ++j) {
    float value = 0;
    std::memcpy(&value, row + j * sizeof(float), sizeof(float));
    sum[j] += value;
  }
}

}  // namespace

std::string integer_word(int64_t key) {
  return std::to_string(key);
}

std::optional<int64_t> integer_key(std::string_view word) {
  if (word != "0" && (word.starts_with('0') || word.starts_with("-0"))) return std::nullopt;  // 05, 00, -0
  return number_from<int64_t>(word);
}

int32_t Vocabulary::sorted_id(int64_t position) const {
  if (position < 0 || position >= size()) return -1;
  const int32_t id = sorted_ids_[static_cast<size_t>(position)];
  return id >= 0 && id < size() ? id : -1;
}

int64_t Vocabulary::lower_bound(std::string_view target) const {
  int64_t low = 0;
  int64_t high = size();
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    // std::string_view compares as unsigned bytes (char_traits<char>), which is memcmp's order.
    if (word(sorted_id(middle)) < target) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::optional<int32_t> Vocabulary::find_exact(std::string_view target) const {
  if (target.empty()) return std::nullopt;
  const int32_t id = sorted_id(lower_bound(target));
  if (id < 0 || word(id) != target) return std::nullopt;
  return id;
}

void Vocabulary::find_all(std::string_view target, std::vector<int32_t>& ids) const {
  for (int64_t position = lower_bound(target); position < size(); ++position) {
    const int32_t id = sorted_id(position);
    if (id < 0 || word(id) != target) return;
    ids.push_back(id);
  }
}

std::optional<int32_t> Vocabulary::find(std::string_view target) const {
  if (const auto id = find_exact(target)) return id;
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (std::none_of(target.begin(), target.end(), is_upper)) return std::nullopt;
  std::string lower(target);
  for (char& c : lower)
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
  return find_exact(lower);
}

Status Subwords::check(const std::string& source) const {
  if (minn >= 1 && minn <= maxn && maxn <= kMostCharacters) return {};
  return {ErrorCode::kCorrupt, concat(source, ": its n-grams have ", minn, " to ", maxn,
                                      " characters, but must have 1 to ", kMostCharacters)};
}

bool Subwords::make_vector(std::string_view word, const char* own_row, std::span<float> vector) const {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  std::fill(vector.begin(), vector.end(), 0.0f);
  int64_t count = 0;
  if (own_row != nullptr) {
    add_row(own_row, vector);
    ++count;
  }
  const std::string text = maxn < minn || word == kEndOfSentence ? "" : "<" + std::string(word) + ">";
  for (size_t begin = 0; begin < text.size(); ++begin) {
    if (continues_character(text[begin])) continue;
    uint32_t hash = 2166136261u;
    size_t end = begin;
    for (int64_t n = 1; n <= maxn && end < text.size(); ++n) {
      do hash = add_to_hash(hash, text[end++]);
      while (end < text.size() && continues_character(text[end]));
      if (n < minn || (n == 1 && (begin == 0 || end == text.size()))) continue;
      add_row(rows.data() + static_cast<size_t>(hash % buckets) * vector.size() * sizeof(float), vector);
      ++count;
    }
  }
  const auto factor = static_cast<float>(1.0 / static_cast<double>(std::max<int64_t>(count, 1)));
  for (float& value : vector) value *= factor;
  return count > 0;
}

}  // namespace glove
