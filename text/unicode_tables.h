// The tables that text/unicode.cpp searches. text/make_unicode_tables.py writes them.
#pragma once

#include <span>

#include "text/unicode.h"

namespace glove::unicode {

// The code points first to last are of this class.
struct ClassRange {
  char32_t first, last;
  CharacterClass kind;
};

// Every `step`-th code point from first to last is upper-case; its lower-case code point is `delta` away.
struct LowerRange {
  char32_t first, last;
  int step, delta;
};

// In rising order, without overlaps. Only code points from U+0080 on.
std::span<const ClassRange> class_ranges();
std::span<const LowerRange> lower_ranges();

}  // namespace glove::unicode
