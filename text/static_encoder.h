// Vectors of texts by a static embedding model: the mean of the rows of its tokenizer's tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/cancel.h"
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
  class TokenList;
  StaticEncoder(std::shared_ptr<const Tokenizer> tokenizer, StoredTokenizerPtr stored, size_t median_length);

  std::string_view cut(std::string_view text, InterruptPoll& poll) const;
  Status find_ids(std::string_view text, Scratch& scratch, const InterruptCheck& interrupted) const;
  bool is_dropped(uint32_t id) const { return drops_unknown_ && id == unknown_; }
  Status add_rows(const Model& model, Scratch& scratch, const InterruptCheck& interrupted) const;
  double weight(uint32_t id) const { return stored_->weights.empty() ? 1 : stored_->weights[id]; }

  std::shared_ptr<const Tokenizer> tokenizer_;
  StoredTokenizerPtr stored_;
  size_t most_characters_ = SIZE_MAX;  // of a text; the rest is cut off
  size_t most_ids_ = SIZE_MAX;
  bool drops_unknown_ = false;
  uint32_t unknown_ = 0;
};

}  // namespace glove
