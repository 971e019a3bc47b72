// What the tokeniser must know about a Unicode character.
#pragma once

#include <cstdint>

namespace glove::unicode {

// The role of a character in a word.
enum class CharacterClass : uint8_t {
  kOther,      // white space, punctuation, symbols, emoji, unassigned: never part of a word
  kLetter,     // letters, and numbers other than decimal digits (general categories L, Nl and No)
  kDigit,      // decimal digits of any script (Nd)
  kMark,       // combining marks (M) and the joiners U+200C and U+200D: continue a word
  kIdeograph,  // Han ideographs and Hiragana: each is a word of its own
  kUnspaced,   // the other letters of Han, Katakana, Thai, Lao, Khmer and Myanmar, which have no spaces
};

// The class of a code point. Any value is allowed.
CharacterClass class_of(char32_t code);

// The simple lower-case mapping of a code point; the code point itself if it has none.
char32_t lower_case(char32_t code);

}  // namespace glove::unicode
