// The tables that text/tokenizers/unicode.cpp searches. make_unicode_tables.mjs writes them from the
// reference. Each is unpacked when it is first asked for, and never freed: worker threads may outlive
// destructors.
#pragma once

#include <cstdint>
#include <span>

#include "text/tokenizers/unicode.h"

namespace glove::tokenizers {

// The character of a code point is characters[records[page * 128 + code % 128]], where page is
// pages[blocks[code / 16384] * 128 + code / 128 % 128].
struct CharacterTable {
  std::span<const uint8_t> blocks;
  std::span<const uint16_t> pages;
  std::span<const uint8_t> records;
  std::span<const Character> characters;
};

// The full decompositions, as UTF-8, of code points in rising order, without those of Hangul syllables. That
// of codes[i] is the text from offsets[i] to offsets[i + 1].
struct DecompositionTable {
  std::span<const uint32_t> codes;
  std::span<const uint16_t> offsets;
  std::span<const uint8_t> text;
};

// The canonical composition of two characters.
struct Composition {
  char32_t first, second, composed;
};

// Every `step`-th code point from first to last has a lower-case code point, `delta` away.
struct LowerCaseRange {
  char32_t first, last;
  int step, delta;
};

// The code points from this one to that of the next range have this script: a number, and 0 for those that
// have none, such as white space. Han, Hiragana and Katakana are one.
struct ScriptRange {
  char32_t first;
  uint32_t script;
};

// The properties of all characters.
const CharacterTable& character_table();

// The canonical decompositions, or the compatibility decompositions that differ from them.
const DecompositionTable& decomposition_table(bool compatible);

// In rising order of (first, second), and of first.
std::span<const Composition> compositions();
std::span<const LowerCaseRange> lower_ranges();
std::span<const ScriptRange> script_ranges();

}  // namespace glove::tokenizers
