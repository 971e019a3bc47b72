#include "text/unicode.h"

#include <algorithm>
#include <vector>

#include "text/packed_numbers.h"

namespace glove::unicode {
namespace {

#include "text/unicode_tables.inc"

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

// Each table is in rising order, without overlaps, and has only code points from U+0080 on. It is never
// freed: worker threads may outlive destructors.
const std::vector<ClassRange>& class_ranges() {
  static const auto& ranges = *new auto(unpack_rows<ClassRange>(kClasses, 3, [](const uint32_t* row) {
    return ClassRange{row[0], row[1], static_cast<CharacterClass>(row[2])};
  }));
  return ranges;
}

const std::vector<LowerRange>& lower_ranges() {
  static const auto& ranges = *new auto(unpack_rows<LowerRange>(kLower, 4, [](const uint32_t* row) {
    return LowerRange{row[0], row[1], static_cast<int>(row[2]), static_cast<int>(row[3])};
  }));
  return ranges;
}

// Returns the range that contains the code point, or nullptr.
template <class Range>
const Range* find_range(const std::vector<Range>& ranges, char32_t code) {
  const auto after = std::ranges::upper_bound(ranges, code, {}, &Range::first);
  if (after == ranges.begin()) return nullptr;
  const Range& range = *(after - 1);
  return code <= range.last ? &range : nullptr;
}

}  // namespace

CharacterClass class_of(char32_t code) {
  if (code < 0x80) {
    if (code >= '0' && code <= '9') return CharacterClass::kDigit;
    const char32_t lower = code | 0x20u;
    return lower >= 'a' && lower <= 'z' ? CharacterClass::kLetter : CharacterClass::kOther;
  }
  const ClassRange* const range = find_range(class_ranges(), code);
  return range == nullptr ? CharacterClass::kOther : range->kind;
}

char32_t lower_case(char32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code;
  const LowerRange* const range = find_range(lower_ranges(), code);
  if (range == nullptr || (code - range->first) % static_cast<char32_t>(range->step) != 0) return code;
  return static_cast<char32_t>(static_cast<int32_t>(code) + range->delta);
}

}  // namespace glove::unicode
