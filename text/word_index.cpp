#include "text/word_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "text/tokenizer.h"

namespace glove {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

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
  note_longer(vocabulary);
}

// Finds the words that the tokeniser, in lower case or not, does not take for one word.
void WordIndex::note_longer(const Vocabulary& vocabulary) {
  std::vector<std::pair<uint32_t, unsigned char>> found;
  for (int64_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view word = vocabulary.word(id);
    if (word.size() > TextTokenizer::kMostBytes || std::all_of(word.begin(), word.end(), is_plain)) continue;
    for (const bool lower_case : {false, true}) {
      TextTokenizer tokenizer(word, {lower_case});
      TextToken first;
      if (!tokenizer.next(first)) continue;
      const size_t end = first.offset + first.length;
      const uint32_t hash = WordSet::hash(first.text);
      const bool is_cut = end < word.size() && word[end] == '-' && !is_symbol(first.text);
      if (first.offset == 1)
        found.emplace_back(WordSet::hash(word.substr(0, 1)), kLead);
      else if (first.offset == 0 && end < word.size() &&
               !(is_cut && tokenizer.next(first) && !is_symbol(first.text)))
        found.emplace_back(hash, std::min(static_cast<unsigned char>(word[end]), kNotAscii));
    }
  }
  longer_.resize(std::bit_ceil(found.size() / 4 + 1));
  for (const auto& [hash, next] : found) {
    const uint32_t bit = bit_of(hash, next);
    longer_[bit / 64] |= uint64_t{1} << bit % 64;
  }
}

std::optional<int32_t> WordIndex::find(const Vocabulary& vocabulary, std::string_view word,
                                       uint32_t hash) const {
  size_t slot = hash & (slots_.size() - 1);
  for (; slots_[slot].id >= 0; slot = (slot + 1) & (slots_.size() - 1))
    if (slots_[slot].hash == hash && vocabulary.word(slots_[slot].id) == word) return slots_[slot].id;
  return std::nullopt;
}

}  // namespace glove
