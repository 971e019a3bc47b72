// Vectors of texts by a model of words: the weighted mean of the vectors of their words, without the model's
// common components.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/cancel.h"
#include "base/status.h"
#include "model/model.h"
#include "text/common_components.h"
#include "text/text_encoder.h"
#include "text/tokenizer.h"
#include "text/word_index.h"
#include "text/word_weights.h"

namespace glove {

class SentenceEncoder final : public TextEncoder {
 public:
  // Removes the first `components` of `common`, which may be null if there are none to remove. REQUIRES:
  // `components` <= common->count.
  SentenceEncoder(std::shared_ptr<const WordIndex> index, WordWeights weights,
                  std::shared_ptr<const CommonComponents> common, int64_t components,
                  TokenizerOptions options);

  // Returns the weight of a row. REQUIRES: the float environment.
  double weight(int32_t id) const { return weights_.weight(id); }

  // The result is specified to the last bit: over the words in the order of the text, s_j = the sum of weight
  // * x_j in double; then s_j / the number of words; then the components are removed one after the other;
  // then each s_j is rounded to float32.
  Result<bool> encode(const Model& model, std::string_view text, Scratch& scratch,
                      const InterruptCheck& interrupted = {}) const override;

  // Lists all words; those that the model lacks have no id.
  Result<std::unique_ptr<Tokens>> tokens(const Model& model, std::string_view text,
                                         const InterruptCheck& interrupted) const override;

 private:
  class WordList;
  Result<int64_t> add_words(const Model& model, std::string_view text, std::span<double> sum,
                            const InterruptCheck& interrupted) const;

  std::shared_ptr<const WordIndex> index_;
  WordWeights weights_;
  std::shared_ptr<const CommonComponents> common_;
  int64_t components_;
  TokenizerOptions options_;
};

}  // namespace glove
