#include "text/word_index.h"

#include <bit>

#include "model/word_set.h"

namespace glove {

WordIndex::WordIndex(const Vocabulary& vocabulary)
    : slots_(std::bit_ceil(2 * static_cast<size_t>(vocabulary.size()) + 2)) {
  for (int64_t id = 0; id < vocabulary.size(); ++id) {
    const uint32_t hash = WordSet::hash(vocabulary.word(id));
    size_t slot = hash & (slots_.size() - 1);
    const auto is_other = [&] {
      return slots_[slot].hash != hash || vocabulary.word(slots_[slot].id) != vocabulary.word(id);
    };
    while (slots_[slot].id >= 0 && is_other()) slot = (slot + 1) & (slots_.size() - 1);
    if (slots_[slot].id < 0) slots_[slot] = {hash, static_cast<int32_t>(id)};
  }
}

std::optional<int32_t> WordIndex::find(const Vocabulary& vocabulary, std::string_view word) const {
  const uint32_t hash = WordSet::hash(word);
  size_t slot = hash & (slots_.size() - 1);
  for (; slots_[slot].id >= 0; slot = (slot + 1) & (slots_.size() - 1))
    if (slots_[slot].hash == hash && vocabulary.word(slots_[slot].id) == word) return slots_[slot].id;
  return std::nullopt;
}

}  // namespace glove
