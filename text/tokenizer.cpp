#include "text/tokenizer.h"

#include <algorithm>
#include <vector>

#include "base/utf8.h"
#include "text/packed_numbers.h"

namespace glove {

// The role of a character in a word.
enum class CharacterClass : uint8_t {
  kOther,      // white space, punctuation, symbols, emoji, unassigned: never part of a word
  kLetter,     // letters, and numbers other than decimal digits (general categories L, Nl and No)
  kDigit,      // decimal digits of any script (Nd)
  kMark,       // combining marks (M) and the joiners U+200C and U+200D: continue a word
  kIdeograph,  // Han ideographs and Hiragana: each is a word of its own
  kUnspaced,   // the other letters of Han, Katakana, Thai, Lao, Khmer and Myanmar, which have no spaces
};

// A character of the source. At the end of the source and for a malformed byte, it is a separator.
struct TextTokenizer::Character {
  char32_t code = 0;
  size_t position = 0;
  size_t length = 0;  // 0 only at the end of the source
  CharacterClass kind = CharacterClass::kOther;

  size_t end() const { return position + length; }
  bool is_word() const { return kind != CharacterClass::kOther; }
  bool is_apostrophe() const { return code == '\'' || code == 0x2019; }
  bool is_dropped() const { return code == 0xAD || code == 0x2060 || code == 0xFEFF; }
};

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

// The class of a code point. Any value is allowed.
CharacterClass class_of(char32_t code) {
  if (code < 0x80) {
    if (code >= '0' && code <= '9') return CharacterClass::kDigit;
    const char32_t lower = code | 0x20u;
    return lower >= 'a' && lower <= 'z' ? CharacterClass::kLetter : CharacterClass::kOther;
  }
  const ClassRange* const range = find_range(class_ranges(), code);
  return range == nullptr ? CharacterClass::kOther : range->kind;
}

// The simple lower-case mapping of a code point; the code point itself if it has none.
char32_t lower_case(char32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code;
  const LowerRange* const range = find_range(lower_ranges(), code);
  if (range == nullptr || (code - range->first) % static_cast<char32_t>(range->step) != 0) return code;
  return static_cast<char32_t>(static_cast<int32_t>(code) + range->delta);
}

constexpr std::array<std::string_view, 7> kClitics = {"n't", "'s", "'m", "'d", "'re", "'ve", "'ll"};

char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool equals_ascii(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (ascii_lower(text[i]) != lower[i]) return false;
  return true;
}

}  // namespace

TextTokenizer::Character TextTokenizer::at(size_t position) const noexcept {
  Character character;
  character.position = position;
  if (position >= source_.size()) return character;
  const auto first = static_cast<unsigned char>(source_[position]);
  character.length = 1;
  if (first < 0x80) {
    character.code = first;
    character.kind = class_of(first);
    return character;
  }
  const std::string_view rest = source_.substr(position, 4);
  const size_t length = utf8_character_length(rest);
  if (length == 0) return character;
  character.length = length;
  character.code = utf8_code_point(rest.substr(0, length));
  character.kind = class_of(character.code);
  const bool is_sound_mark = character.code == 0xFF9E || character.code == 0xFF9F;  // half-width
  if (character.kind == CharacterClass::kUnspaced)
    character.kind = !options_.longest_match ? CharacterClass::kLetter
                     : is_sound_mark         ? CharacterClass::kMark
                                             : CharacterClass::kIdeograph;
  return character;
}

// Appends a character to the word and moves past it. Returns false, and does nothing, if it does not fit.
bool TextTokenizer::append(const Character& character) noexcept {
  char32_t code = character.is_apostrophe() ? U'\'' : character.code;
  if (options_.lower_case) code = lower_case(code);
  char bytes[4];
  const size_t length = write_utf8(code, bytes);
  if (size_ + length > kMostBytes) return false;
  for (size_t i = 0; i < length; ++i) word_[size_ + i] = bytes[i];
  size_ += length;
  starts_ = {starts_[1], starts_[2], character.position};
  position_ = character.end();
  return true;
}

// True if a clitic that begins with an apostrophe stands here on its own, as in "it 's" or "1990's".
bool TextTokenizer::clitic_begins(size_t apostrophe) const noexcept {
  char text[3] = {'\''};
  size_t size = 1;
  Character character = at(at(apostrophe).end());
  for (; character.kind == CharacterClass::kLetter && character.code < 0x80;
       character = at(character.end())) {
    if (size == sizeof(text)) return false;
    text[size++] = static_cast<char>(character.code);
  }
  if (character.is_word()) return false;
  for (const std::string_view clitic : kClitics)
    if (equals_ascii({text, size}, clitic)) return true;
  return false;
}

bool TextTokenizer::skip_to_word(InterruptPoll* poll) {
  constexpr size_t kCharactersPerPoll = 4096;
  for (size_t skipped = 1; position_ < source_.size(); ++skipped) {
    if (poll != nullptr && skipped % kCharactersPerPoll == 0 && poll->stop()) return false;
    const Character character = at(position_);
    if (character.is_word() && character.kind != CharacterClass::kMark) return true;
    if (character.is_apostrophe() && clitic_begins(position_)) return true;
    position_ = character.end();
  }
  return false;
}

// Reads a word of single letters with full stops between them and perhaps after the last one. Returns false
// if there is no such word here.
bool TextTokenizer::read_initials() noexcept {
  size_t end = position_;
  int letters = 0;
  for (;;) {
    const Character letter = at(end);
    if (letter.kind != CharacterClass::kLetter) break;
    const Character next = at(letter.end());
    if (next.is_word()) break;
    end = letter.end();
    ++letters;
    if (next.code != '.') break;
    end = next.end();
    if (end - position_ > kMostBytes) break;
  }
  if (letters < 2) return false;
  while (position_ < end)
    if (!append(at(position_))) break;
  return true;
}

// True if the word continues after this character, which is not a letter, digit or mark.
bool TextTokenizer::joins(const Character& joint, bool after_letter, bool after_digit) const noexcept {
  if (joint.is_apostrophe()) return after_letter && at(joint.end()).kind == CharacterClass::kLetter;
  if (joint.code == '.' || joint.code == ',' || joint.code == ':')
    return after_digit && at(joint.end()).kind == CharacterClass::kDigit;
  const Character next = joint.is_dropped() ? at(joint.end()) : Character{};
  return next.is_word() && next.kind != CharacterClass::kIdeograph;
}

// Reads the word that begins here. Its first character may be of any class.
void TextTokenizer::read_word() noexcept {
  Character character = at(position_);
  const bool ideograph = character.kind == CharacterClass::kIdeograph;
  bool after_letter = false;
  bool after_digit = false;
  bool fits = append(character);
  while (fits) {
    if (character.kind == CharacterClass::kLetter || character.kind == CharacterClass::kDigit) {
      after_letter = character.kind == CharacterClass::kLetter;
      after_digit = !after_letter;
    }
    character = at(position_);
    const bool mark = character.kind == CharacterClass::kMark;
    if (character.kind == CharacterClass::kIdeograph || (ideograph && !mark)) return;
    if (!character.is_word() && !joins(character, after_letter, after_digit)) return;
    if (character.is_dropped())
      position_ = character.end();
    else
      fits = append(character);
  }
}

// Returns the length of the clitic that the word ends with; 0 if there is none, or if it is the whole word.
size_t TextTokenizer::clitic_length() const noexcept {
  const std::string_view word(word_.data(), size_);
  for (const std::string_view clitic : kClitics)
    if (word.size() > clitic.size() && equals_ascii(word.substr(word.size() - clitic.size()), clitic))
      return clitic.size();
  return 0;
}

TextToken TextTokenizer::token(size_t first, size_t last, size_t begin) const noexcept {
  const size_t end = last < size_ ? starts_[starts_.size() - clitic_] : position_;
  return {std::string_view(word_.data() + first, last - first), begin, end - begin};
}

bool TextTokenizer::next(TextToken& result, InterruptPoll* poll) {
  if (clitic_ > 0) {
    result = token(size_ - clitic_, size_, starts_[starts_.size() - clitic_]);
    clitic_ = 0;
    return true;
  }
  if (!skip_to_word(poll)) return false;
  const size_t begin = position_;
  size_ = 0;
  if (!read_initials()) read_word();
  clitic_ = clitic_length();
  result = token(0, size_ - clitic_, begin);
  return true;
}

}  // namespace glove
