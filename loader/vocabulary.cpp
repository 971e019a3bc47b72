#include "loader/vocabulary.h"

#include <algorithm>
#include <string>

namespace glove {

std::string_view Vocabulary::word(int64_t id) const {
  if (id < 0 || id + 1 >= static_cast<int64_t>(word_offsets_.size())) return {};
  const int64_t begin = word_offsets_[static_cast<size_t>(id)];
  const int64_t end = word_offsets_[static_cast<size_t>(id) + 1];
  if (begin < 0 || end < begin || end > static_cast<int64_t>(word_bytes_.size())) return {};
  return {word_bytes_.data() + begin, static_cast<size_t>(end - begin)};
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
  const int32_t id = sorted_id(lower_bound(target));
  if (id < 0 || word(id) != target) return std::nullopt;
  return id;
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
