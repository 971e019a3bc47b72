// Vectors of texts by a model of words: the weighted mean of the vectors of their words, without the model's
// common components.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

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

  // The vector of a word of a text: its row or, if the model has n-grams, the one made of them. May set no
  // norm.
  WordVector find(const Model& model, const EncodedToken& word, std::vector<float>& made) const;
  // Returns the weight of a word with a vector: 1 if it has no row. REQUIRES: the float environment.
  double weight(const WordVector& word) const { return word.id ? weights_.weight(*word.id) : 1; }

  // The result is specified to the last bit: over the words in the order of the text, s_j = the sum of weight
  // * x_j in double; then s_j / the number of words; then the components are removed one after the other;
  // then each s_j is rounded to float32.
  Result<bool> encode(const Model& model, std::string_view text, Scratch& scratch,
                      const InterruptCheck& interrupted = {}) const override;

  // Lists all words; those that the model lacks have no id, and no weight unless they are made of n-grams.
  Result<std::unique_ptr<Tokens>> tokens(const Model& model, std::string_view text,
                                         const InterruptCheck& interrupted) const override;

 private:
  class WordList;
  Result<int64_t> add_words(const Model& model, std::string_view text, Scratch& scratch,
                            const InterruptCheck& interrupted) const;

  std::shared_ptr<const WordIndex> index_;
  WordWeights weights_;
  std::shared_ptr<const CommonComponents> common_;
  int64_t components_;
  TokenizerOptions options_;
};

}  // namespace glove
