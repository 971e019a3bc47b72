// Tokens that are found in a text before it is cut into pieces: "[CLS]", or words of several pieces.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/tokenizers/json.h"
#include "text/tokenizers/normalizers.h"
#include "text/tokenizers/vocabulary.h"
#include "text/tokenizers/work.h"

namespace glove::tokenizers {

// A part of a text: an added token, or text between two.
struct Section {
  size_t begin, end;
  uint32_t id;  // Trie::kNone for text
};

// Immutable.
class AddedTokens {
 public:
  // Reads "added_tokens" of a tokenizer.json. As in the reference, a token that `model` has keeps its id
  // there, the others get the ids behind those of the model, and the ids in the file are ignored.
  // `normalizers` is for tokens that are to be found in normalized text.
  [[gnu::cold]] static Result<AddedTokens> read(const JsonField& field, const TokenVocabulary& model,
                                                const Normalizers* normalizers);

  // Replaces `sections` by those of a text: before its normalization, and after.
  void split_source(std::string_view text, std::vector<Section>& sections, TextWork& work) const {
    split(source_, text, sections, work);
  }
  void split_normalized(std::string_view text, std::vector<Section>& sections, TextWork& work) const {
    split(normalized_, text, sections, work);
  }

  // The added tokens by id.
  const TokenVocabulary& vocabulary() const { return vocabulary_; }

 private:
  struct Token {
    std::string content;
    uint32_t id = 0;
    bool single_word = false;  // only where no letter, digit or underscore is beside it
    bool strips_left = false;  // takes in white space beside it
    bool strips_right = false;
    bool is_normalized = false;
    bool is_special = false;
  };
  struct Finder {
    Trie trie;  // the values are indices into tokens_
    std::array<bool, 256> begins{};
    bool is_empty = true;
  };

  [[gnu::cold]] static Result<Token> read_token(const JsonField& field);
  [[gnu::cold]] void assign_ids(std::vector<Token> tokens, const TokenVocabulary& model, InterruptPoll& poll);
  [[gnu::cold]] Result<Finder> finder(const JsonField& field, bool of_normalized,
                                      const Normalizers* normalizers) const;
  void split(const Finder& finder, std::string_view text, std::vector<Section>& sections,
             TextWork& work) const;
  Section widened(const Token& token, Section match, size_t least, std::string_view text,
                  TextWork& work) const;

  std::vector<Token> tokens_;  // in the order of matching: the special ones first
  TokenVocabulary vocabulary_;
  Finder source_, normalized_;
};

}  // namespace glove::tokenizers
