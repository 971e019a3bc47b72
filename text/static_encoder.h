// Vectors of texts by a static embedding model: the mean of the rows of its tokenizer's tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/model.h"
#include "model/stored_tokenizer.h"
#include "text/text_encoder.h"
#include "text/tokenizers/tokenizer.h"

namespace glove {

// The TokenizerReader of loader/. Errors:
// what Tokenizer::parse() reports, an id without a token, and an unknown token that is empty, whose row would
// be lost. `source`, its path, begins the message.
Result<TokenizerContent> read_tokenizer(const std::string& source, std::string_view json,
                                        const InterruptCheck& interrupted);

// The tokens of ids. The tokenizer must outlive it.
class IdTokens final : public TextEncoder::Tokens {
 public:
  // `weights` [tokens]: of the ids, or empty: 1. `dropped` has no id; at most `most` others are listed.
  IdTokens(const Tokenizer& tokenizer, std::vector<uint32_t> ids, std::span<const double> weights = {},
           std::optional<uint32_t> dropped = {}, size_t most = SIZE_MAX)
      : tokenizer_(tokenizer), ids_(std::move(ids)), weights_(weights), dropped_(dropped), most_(most) {}

  Result<bool> next(EncodedToken& token, const InterruptCheck& interrupted) override;

 private:
  const Tokenizer& tokenizer_;
  std::vector<uint32_t> ids_;
  std::span<const double> weights_;
  std::optional<uint32_t> dropped_;
  size_t most_;
  size_t next_ = 0;
};

// docs/text.md has the rules of both layouts ("How a static model encodes").
class StaticEncoder final : public TextEncoder {
 public:
  // Parses the tokenizer of the model, unless it was parsed to open the model. Errors: those of
  // read_tokenizer(), weights that are NaN or infinite, and a model that is only a shard. REQUIRES: the model
  // has a tokenizer.
  static Result<std::shared_ptr<const StaticEncoder>> make(const Model& model,
                                                           const InterruptCheck& interrupted);

  // The result is specified to the last bit: over the tokens in the order of the text, s_j = the sum of
  // weight * x_j in double; then s_j / the number of tokens; then, if the model says so, s_j / the length
  // sqrt(D(s, s)), where D is the sum of docs/format.md in doubles; then each s_j is rounded to float32.
  Result<bool> encode(const Model& model, std::string_view text, Scratch& scratch,
                      const InterruptCheck& interrupted = {}) const override;

  // Also lists the unknown tokens that encode() leaves out, without an id. Does not list what is cut off.
  Result<std::unique_ptr<Tokens>> tokens(const Model& model, std::string_view text,
                                         const InterruptCheck& interrupted) const override;

 private:
  StaticEncoder(std::shared_ptr<const Tokenizer> tokenizer, StoredTokenizerPtr stored, size_t median_length);

  std::string_view cut(std::string_view text, InterruptPoll& poll) const;
  Status find_ids(std::string_view text, Scratch& scratch, const InterruptCheck& interrupted) const;
  Status add_rows(const Model& model, Scratch& scratch, const InterruptCheck& interrupted) const;

  std::shared_ptr<const Tokenizer> tokenizer_;
  StoredTokenizerPtr stored_;
  size_t most_characters_ = SIZE_MAX;  // of a text; the rest is cut off
  size_t most_ids_ = SIZE_MAX;
  std::optional<uint32_t> dropped_;  // the unknown token, if its ids do not count
};

}  // namespace glove
