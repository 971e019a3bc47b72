#include "model/vocabulary.h"

#include <algorithm>
#include <charconv>

namespace glove {

std::string integer_word(int64_t key) {
  return std::to_string(key);
}

std::optional<int64_t> integer_key(std::string_view word) {
  const char* end = word.data() + word.size();
  const char* digits = word.data() + (word.starts_with('-') ? 1 : 0);
  int64_t key = 0;
  const auto [stop, error] = std::from_chars(word.data(), end, key);
  if (error != std::errc() || stop != end) return std::nullopt;
  if (*digits == '0' && word != "0") return std::nullopt;  // 05, 00, -0
  return key;
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

}  // namespace glove
