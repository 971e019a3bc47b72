// Splits texts into the words that a model has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/vocabulary.h"
#include "text/text_encoder.h"
#include "text/tokenizer.h"
#include "text/tokenizers/unicode.h"
#include "text/word_index.h"

namespace glove {

// Yields the words of TextTokenizer. With TokenizerOptions::longest_match, several of them become one where
// the vocabulary has that: at each word, the longest word of the vocabulary that begins there (forward
// maximum matching) and ends with another one, or with a symbol. Between them, white space of one character
// counts as '_', and the rest as it is: "New York" is new_york, "C++" c++, and 东京 with 大学 东京大学. A
// character of punctuation before a word may belong to it, as in ".net". What is not in the vocabulary as it
// is written is looked up in NFC, NFKC and NFD, and without TokenizerOptions::lower_case in lower case.
class VocabularyWords {
 public:
  // All must outlive this.
  VocabularyWords(std::string_view source, TokenizerOptions options, const WordIndex& index,
                  const Vocabulary& vocabulary)
      : source_(source),
        options_(options),
        index_(index),
        vocabulary_(vocabulary),
        tokenizer_(source, options) {}

  // Moves to the next word, which has no weight yet, and the vocabulary's spelling if it was joined or looked
  // up in another one. Returns false at the end of the text, or if the poll stops.
  bool next(EncodedToken& word, InterruptPoll* poll);

 private:
  // How the words of a text are changed before they are looked up; the first ones are tokenizers::Form's.
  enum class Spelling { kNfc, kNfd, kNfkc, kAsWritten, kLower };

  std::optional<int32_t> find(std::string_view word, uint32_t hash) const;
  bool may_be_longer(const TextToken& token, uint32_t hash) const;
  bool has_lead(const TextToken& token) const;
  void find_longer(const TextToken& token, size_t begin, InterruptPoll* poll);
  void match(const TextToken& token, size_t begin, Spelling spelling, InterruptPoll* poll);
  bool take(size_t end, Spelling spelling);
  std::string_view spelled(Spelling spelling);

  std::string_view source_;
  TokenizerOptions options_;
  const WordIndex& index_;
  const Vocabulary& vocabulary_;
  TextTokenizer tokenizer_;
  size_t end_ = 0;               // of the last word, in the source
  std::optional<int32_t> best_;  // the longest word so far
  size_t best_end_ = 0;          // in the source
  std::string text_, spelled_;   // what may be a word
  tokenizers::MarkBuffers marks_;
};

}  // namespace glove
