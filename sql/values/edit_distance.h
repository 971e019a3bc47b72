// Which words of a model a misspelt one may mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/vocabulary.h"

namespace glove::sql {

// The most characters of a word that others are compared with.
constexpr size_t kMostComparedCharacters = 256;

// Words by ascending distance, and equal ones by id. A distance is the least number of changes that make one
// text the other. A change inserts, removes or replaces a character, or swaps two neighbouring ones, and no
// part of the text is changed twice. Bytes that are not valid UTF-8 are characters of their own.
struct WordsByDistance {
  std::vector<int32_t> ids;
  std::vector<uint16_t> distances;  // at most kMostDistance, which stands for any greater one
};
constexpr uint16_t kMostDistance = 1000;

// Returns all words of the vocabulary by their distance from `word`. An error if that is too long.
Result<WordsByDistance> words_by_distance(const Vocabulary& vocabulary, std::string_view word,
                                          const InterruptCheck& interrupted);

// Returns the id of the most frequent word at a distance of 1, as far as a change by a letter of a to z finds
// one; nullopt if there is none or the word is longer than anybody misspells. Takes about 50 look-ups for
// each character.
std::optional<int32_t> word_nearby(const Vocabulary& vocabulary, std::string_view word);

}  // namespace glove::sql
