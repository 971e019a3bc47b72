#include "text/sentence_encoder.h"

#include <memory>
#include <optional>
#include <utility>

#include "text/vocabulary_words.h"

namespace glove {

SentenceEncoder::SentenceEncoder(std::shared_ptr<const WordIndex> index, WordWeights weights,
                                 std::shared_ptr<const CommonComponents> common, int64_t components,
                                 TokenizerOptions options)
    : index_(std::move(index)),
      weights_(std::move(weights)),
      common_(std::move(common)),
      components_(components),
      options_(options) {}

WordVector SentenceEncoder::find(const Model& model, const EncodedToken& word,
                                 std::vector<float>& made) const {
  if (word.id) return {word.id, model.vector(*word.id)};
  return model.source().subwords == nullptr ? WordVector() : find_word(model, word.text, made);
}

// Adds the weighted vectors of the text's words to scratch.sum; returns how many words had one.
Result<int64_t> SentenceEncoder::add_words(const Model& model, std::string_view text, Scratch& scratch,
                                           const InterruptCheck& interrupted) const {
  int64_t words = 0;
  InterruptPoll poll(interrupted);
  VocabularyWords found(text, options_, *index_, model.vocabulary());
  for (EncodedToken word; found.next(word, &poll);) {
    if (poll.stop()) break;
    const WordVector vector = find(model, word, scratch.vector);
    if (vector.vector == nullptr) continue;
    ++words;
    const double weight = this->weight(vector);
    double* const out = scratch.sum.data();
    for (size_t j = 0; j < scratch.sum.size(); ++j) out[j] += weight * static_cast<double>(vector.vector[j]);
  }
  if (poll.stopped()) return interrupted_error();
  return words;
}

Result<bool> SentenceEncoder::encode(const Model& model, std::string_view text, Scratch& scratch,
                                     const InterruptCheck& interrupted) const {
  const auto dims = static_cast<size_t>(model.dims());
  scratch.sum.assign(dims, 0.0);
  scratch.vector.resize(dims);
  GLOVE_ASSIGN_OR_RETURN(const int64_t words, add_words(model, text, scratch, interrupted));
  if (words == 0) return false;
  for (double& value : scratch.sum) value /= static_cast<double>(words);
  if (components_ > 0) common_->remove(components_, scratch.sum);
  return round_sum(scratch);
}

class SentenceEncoder::WordList final : public Tokens {
 public:
  WordList(const SentenceEncoder& encoder, const Model& model, std::string_view text)
      : encoder_(encoder),
        model_(model),
        words_(text, encoder.options_, *encoder.index_, model.vocabulary()) {}

  Result<bool> next(EncodedToken& token, const InterruptCheck& interrupted) override {
    InterruptPoll poll(interrupted);
    const bool found = words_.next(token, &poll);
    if (poll.stopped()) return interrupted_error();
    if (!found) return false;
    const WordVector vector = encoder_.find(model_, token, made_);
    token.weight = vector.vector == nullptr ? std::nullopt : std::optional(encoder_.weight(vector));
    return true;
  }

 private:
  const SentenceEncoder& encoder_;
  const Model& model_;
  VocabularyWords words_;
  std::vector<float> made_;
};

Result<std::unique_ptr<TextEncoder::Tokens>> SentenceEncoder::tokens(const Model& model,
                                                                     std::string_view text,
                                                                     const InterruptCheck&) const {
  return std::unique_ptr<Tokens>(std::make_unique<WordList>(*this, model, text));
}

}  // namespace glove
