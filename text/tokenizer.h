// Splits text into the words that a model is asked for. docs/text.md describes the rules.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/status.h"

namespace glove {

// How a text is split.
struct TokenizerOptions {
  bool lower_case = true;
  bool longest_match = true;  // for VocabularyWords: every letter of a script without spaces is a word
};

// A word of a text.
struct TextToken {
  std::string_view text;  // well-formed UTF-8 without NUL; valid until the tokeniser is called again
  size_t offset = 0;      // of the first byte of the word in the source
  size_t length = 0;      // bytes in the source
};

// Yields the words of a text from left to right, in time proportional to the text. Allocates nothing. The
// source may hold any bytes; those that are not well-formed UTF-8 separate words.
//
// The rules are those of word boundaries in UAX #29, restricted to what decides between words, with the
// conventions of the GloVe models: a run of letters, digits and marks is a word; an apostrophe between
// letters, and '.', ',' or ':' between digits, do not end it; single letters with full stops between them are
// one word with its last full stop ("u.s."); "n't", "'s", "'re", "'ve", "'ll", "'d" and "'m" are words of
// their own; an ideograph is a word; everything else separates words. U+2019 becomes an apostrophe, and
// U+00AD (soft hyphen), U+2060 and U+FEFF inside a word are dropped.
class TextTokenizer {
 public:
  // A word ends where its text would have more bytes than this, and the next word begins there.
  static constexpr size_t kMostBytes = 255;

  // `source` must outlive the tokeniser.
  explicit TextTokenizer(std::string_view source, TokenizerOptions options = {})
      : source_(source), options_(options) {}

  // Moves to the next word. Returns false at the end of the text, or if the poll stops the search for a word.
  bool next(TextToken& token, InterruptPoll* poll = nullptr);

  // Continues at a position of the source, where a word or what separates words begins.
  void seek(size_t position) {
    position_ = position;
    clitic_ = 0;
  }

 private:
  struct Character;

  Character at(size_t position) const noexcept;
  bool append(const Character& character) noexcept;
  bool skip_to_word(InterruptPoll* poll);
  bool clitic_begins(size_t apostrophe) const noexcept;
  bool read_initials() noexcept;
  void read_word() noexcept;
  bool joins(const Character& joint, bool after_letter, bool after_digit) const noexcept;
  size_t clitic_length() const noexcept;
  TextToken token(size_t first, size_t last, size_t begin) const noexcept;

  std::string_view source_;
  TokenizerOptions options_;
  size_t position_ = 0;                // in the source, of what follows the word in the buffer
  std::array<char, kMostBytes> word_;  // the text of the word
  size_t size_ = 0;
  std::array<size_t, 3> starts_{};  // in the source, of the last three characters of the word
  size_t clitic_ = 0;               // bytes at the end of the word that are still to be yielded
};

}  // namespace glove
