#include "sql/values/edit_distance.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/concat.h"
#include "base/utf8.h"

namespace glove::sql {
namespace {

constexpr char32_t kFirstInvalid = 0x110000;  // stands for a byte that is not valid UTF-8

void characters_of(std::string_view text, std::vector<char32_t>& characters) {
  characters.clear();
  while (!text.empty()) {
    const size_t length = utf8_character_length(text);
    characters.push_back(length == 0 ? kFirstInvalid + static_cast<unsigned char>(text.front())
                                     : utf8_code_point(text.substr(0, length)));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
}

// Computes distances from one word. Keeps the rows of the table between calls.
class Distances {
 public:
  explicit Distances(std::string_view word) { characters_of(word, word_); }

  int64_t to(std::string_view other) {
    characters_of(other, other_);
    const size_t width = word_.size() + 1;
    before_.assign(width, 0);
    above_.resize(width);
    current_.resize(width);
    for (size_t i = 0; i < width; ++i) above_[i] = static_cast<int64_t>(i);
    for (size_t row = 0; row < other_.size(); ++row) {
      fill_row(row);
      std::swap(before_, above_);
      std::swap(above_, current_);
    }
    return above_.back();
  }

  size_t characters() const { return word_.size(); }

 private:
  void fill_row(size_t row) {
    current_[0] = static_cast<int64_t>(row) + 1;
    for (size_t i = 1; i < current_.size(); ++i) {
      const int64_t replaced = above_[i - 1] + (word_[i - 1] == other_[row] ? 0 : 1);
      current_[i] = std::min({replaced, above_[i] + 1, current_[i - 1] + 1});
      const bool swapped = row > 0 && i > 1 && word_[i - 1] == other_[row - 1] && word_[i - 2] == other_[row];
      if (swapped) current_[i] = std::min(current_[i], before_[i - 2] + 1);
    }
  }

  std::vector<char32_t> word_, other_;
  std::vector<int64_t> before_, above_, current_;  // the rows for two characters less, one less, and now
};

}  // namespace

Result<WordsByDistance> words_by_distance(const Vocabulary& vocabulary, std::string_view word,
                                          const InterruptCheck& interrupted) {
  Distances distances(word);
  if (distances.characters() > kMostComparedCharacters)
    return invalid_argument("like has ", distances.characters(), " characters, but at most ",
                            kMostComparedCharacters, " are compared; give a shorter word");
  InterruptPoll poll(interrupted);
  std::vector<uint16_t> of_word(static_cast<size_t>(vocabulary.size()));
  for (size_t id = 0; id < of_word.size(); ++id) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    const std::string_view other = vocabulary.word(static_cast<int64_t>(id));
    of_word[id] = other.size() > 4 * size_t{kMostDistance} + 4 * kMostComparedCharacters
                      ? kMostDistance
                      : static_cast<uint16_t>(std::min<int64_t>(distances.to(other), kMostDistance));
  }
  WordsByDistance words;
  words.ids.resize(of_word.size());
  for (size_t id = 0; id < of_word.size(); ++id) words.ids[id] = static_cast<int32_t>(id);
  std::stable_sort(words.ids.begin(), words.ids.end(), [&of_word](int32_t a, int32_t b) {
    return of_word[static_cast<size_t>(a)] < of_word[static_cast<size_t>(b)];
  });
  words.distances.reserve(of_word.size());
  for (const int32_t id : words.ids) words.distances.push_back(of_word[static_cast<size_t>(id)]);
  return words;
}

std::optional<int32_t> word_nearby(const Vocabulary& vocabulary, std::string_view word) {
  constexpr size_t kMostBytes = 40;
  std::optional<int32_t> nearest;
  if (word.size() < 2 || word.size() > kMostBytes) return nearest;
  const auto look_up = [&](const std::string& candidate) {
    const std::optional<int32_t> id = vocabulary.find_exact(candidate);
    if (id && (!nearest || *id < *nearest)) nearest = id;
  };
  for (size_t at = 0; at <= word.size(); ++at) {
    const std::string_view before = word.substr(0, at), rest = word.substr(at);
    for (char letter = 'a'; letter <= 'z'; ++letter) {
      look_up(concat(before, letter, rest));
      if (!rest.empty()) look_up(concat(before, letter, rest.substr(1)));
    }
    if (!rest.empty()) look_up(concat(before, rest.substr(1)));
    if (rest.size() > 1) look_up(concat(before, rest[1], rest[0], rest.substr(2)));
  }
  return nearest;
}

}  // namespace glove::sql
