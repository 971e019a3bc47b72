#include "text/tokenizer.h"

#include "base/utf8.h"
#include "text/unicode.h"

namespace glove {

using unicode::CharacterClass;

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

// Writes a code point as UTF-8 and returns its length.
size_t encode(char32_t code, char* out) {
  const auto byte = [](char32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); };
  if (code < 0x80) {
    out[0] = byte(code);
    return 1;
  }
  const size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; --i, code >>= 6) out[i] = byte(0x80 | (code & 0x3F));
  out[0] = byte((0xF00u >> length & 0xFFu) | code);
  return length;
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
    character.kind = unicode::class_of(first);
    return character;
  }
  const std::string_view rest = source_.substr(position, 4);
  const size_t length = utf8_character_length(rest);
  if (length == 0) return character;
  character.length = length;
  character.code = utf8_code_point(rest.substr(0, length));
  character.kind = unicode::class_of(character.code);
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
  if (options_.lower_case) code = unicode::lower_case(code);
  char bytes[4];
  const size_t length = encode(code, bytes);
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
