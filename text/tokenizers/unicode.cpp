#include "text/tokenizers/unicode.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/tokenizers/unicode_tables.h"

namespace glove::tokenizers {

const Character& character(char32_t code) {
  static const CharacterTable table = character_table();
  const size_t page = table.pages[table.blocks[code / 16384] * size_t{128} + code / 128 % 128];
  return table.characters[table.records[page * 128 + code % 128]];
}

void append_code(std::string& text, char32_t code) {
  if (code < 0x80) return text.push_back(static_cast<char>(code));
  char bytes[4];
  text.append(bytes, write_utf8(code, bytes));
}

void append_lower(std::string& text, char32_t code) {
  if (!has(code, kHasLower)) return append_code(text, code);
  if (code == 0x130) {
    text += "i\u0307";
    return;
  }
  const auto ranges = lower_ranges();
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), code,
                       [](char32_t left, const LowerCaseRange& right) { return left < right.first; });
  append_code(text, static_cast<char32_t>(static_cast<int>(code) + std::prev(after)->delta));
}

namespace {

// The length of the maximal part of a character at the front of bytes that begin with no well-formed one.
size_t broken_length(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned lead = byte(0);
  if (lead < 0xc2 || lead > 0xf4 || bytes.size() < 2) return 1;
  const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 1;
  return lead >= 0xf0 && bytes.size() > 2 && (byte(2) & 0xc0u) == 0x80u ? 3 : 2;
}

// Returns the position of the first character that is not well-formed, or the length of the text.
size_t well_formed_length(std::string_view text, TextWork& work) {
  size_t at = 0;
  while (at < text.size() && !work.stop()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const size_t length = utf8_character_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return at;
}

}  // namespace

std::string_view well_formed(std::string_view text, std::string& buffer, TextWork& work) {
  size_t good = well_formed_length(text, work);
  if (good == text.size()) return text;
  buffer.clear();
  while (good < text.size() && !work.stopped()) {
    buffer.append(text.substr(0, good)).append(kReplacementCharacter);
    text.remove_prefix(good + broken_length(text.substr(good)));
    good = well_formed_length(text, work);
  }
  buffer.append(text);
  return buffer;
}

}  // namespace glove::tokenizers
