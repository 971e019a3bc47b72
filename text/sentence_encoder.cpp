#include "text/sentence_encoder.h"

#include <utility>

namespace glove {

SentenceEncoder::SentenceEncoder(std::shared_ptr<const WordIndex> index, WordWeights weights,
                                 std::shared_ptr<const CommonComponents> common, int64_t components,
                                 TokenizerOptions options)
    : index_(std::move(index)),
      weights_(std::move(weights)),
      common_(std::move(common)),
      components_(components),
      options_(options) {}

// A token whose case was kept is also tried in lower case, as everywhere in SQL.
std::optional<int32_t> SentenceEncoder::find(const Model& model, std::string_view word) const {
  const std::optional<int32_t> id = index_->find(model.vocabulary(), word);
  return id || options_.lower_case ? id : model.vocabulary().find(word);
}

// Adds the weighted rows of the text's words to `sum`; returns how many words were known.
Result<int64_t> SentenceEncoder::add_words(const Model& model, std::string_view text, std::span<double> sum,
                                           const InterruptCheck& interrupted) const {
  int64_t words = 0;
  InterruptPoll poll(interrupted);
  TextTokenizer tokenizer(text, options_);
  for (TextToken token; tokenizer.next(token, &poll);) {
    if (poll.stop()) break;
    const std::optional<int32_t> id = find(model, token.text);
    if (!id) continue;
    ++words;
    const double weight = weights_.weight(*id);
    const float* const row = model.vector(*id);
    double* const out = sum.data();
    for (size_t j = 0; j < sum.size(); ++j) out[j] += weight * static_cast<double>(row[j]);
  }
  if (poll.stopped()) return interrupted_error();
  return words;
}

Result<bool> SentenceEncoder::encode(const Model& model, std::string_view text, Scratch& scratch,
                                     const InterruptCheck& interrupted) const {
  const auto dims = static_cast<size_t>(model.dims());
  scratch.sum.assign(dims, 0.0);
  scratch.vector.resize(dims);
  GLOVE_ASSIGN_OR_RETURN(const int64_t words, add_words(model, text, scratch.sum, interrupted));
  if (words == 0) return false;
  for (double& value : scratch.sum) value /= static_cast<double>(words);
  if (components_ > 0) common_->remove(components_, scratch.sum);
  return round_sum(scratch);
}

class SentenceEncoder::WordList final : public Tokens {
 public:
  WordList(const SentenceEncoder& encoder, const Model& model, std::string_view text)
      : encoder_(encoder), model_(model), tokenizer_(text, encoder.options_) {}

  Result<bool> next(EncodedToken& token, const InterruptCheck& interrupted) override {
    InterruptPoll poll(interrupted);
    const bool found = tokenizer_.next(word_, &poll);
    if (poll.stopped()) return interrupted_error();
    if (!found) return false;
    token = {word_.text, encoder_.find(model_, word_.text), 0};
    if (token.id) token.weight = encoder_.weight(*token.id);
    return true;
  }

 private:
  const SentenceEncoder& encoder_;
  const Model& model_;
  TextTokenizer tokenizer_;
  TextToken word_;
};

Result<std::unique_ptr<TextEncoder::Tokens>> SentenceEncoder::tokens(const Model& model,
                                                                     std::string_view text,
                                                                     const InterruptCheck&) const {
  return std::unique_ptr<Tokens>(std::make_unique<WordList>(*this, model, text));
}

}  // namespace glove
