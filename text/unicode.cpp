#include "text/unicode.h"

#include <algorithm>
#include <span>

#include "text/unicode_tables.h"

namespace glove::unicode {
namespace {

// Returns the range that contains the code point, or nullptr.
template <class Range>
const Range* find_range(std::span<const Range> ranges, char32_t code) {
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
