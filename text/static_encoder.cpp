#include "text/static_encoder.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/concat.h"
#include "base/utf8.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

// Of model2vec: the most ids of a text, and with the median length of a token the most characters.
constexpr size_t kMostIds = 512;

// What the two layouts guard a division by zero with.
constexpr double kModel2VecEpsilon = 1e-32;
constexpr double kStaticEmbeddingEpsilon = 1e-12;

size_t characters_of(std::string_view token) {
  return static_cast<size_t>(std::ranges::count_if(token, [](char c) { return (c & 0xC0) != 0x80; }));
}

// Returns the median length in characters of the distinct tokens, rounded down.
Result<size_t> median_token_length(const Tokenizer& tokenizer, InterruptPoll& poll) {
  std::vector<size_t> lengths;
  for (uint32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    if (tokenizer.id_of(tokenizer.token(id)) == id) lengths.push_back(characters_of(tokenizer.token(id)));
  }
  if (lengths.empty()) return 0;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::ranges::nth_element(lengths, middle);
  if (lengths.size() % 2 == 1) return *middle;
  return (*std::max_element(lengths.begin(), middle) + *middle) / 2;
}

// Divides a vector by its length, whose square is summed as D of docs/format.md.
void normalize(EncodingRules rules, std::span<double> vector) {
  std::array<double, 8> p{};
  for (size_t j = 0; j < vector.size(); ++j) p[j % 8] += vector[j] * vector[j];
  const double length = std::sqrt(sum_of_lanes(p.data()));
  const double divisor = rules == EncodingRules::kModel2Vec ? length + kModel2VecEpsilon
                                                            : std::max(length, kStaticEmbeddingEpsilon);
  for (double& value : vector) value /= divisor;
}

}  // namespace

Result<TokenizerContent> read_tokenizer(const std::string& source, std::string_view json,
                                        const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(std::shared_ptr<const Tokenizer> tokenizer,
                         Tokenizer::parse(json, source, interrupted));
  std::vector<std::string> tokens;
  InterruptPoll poll(interrupted);
  for (uint32_t id = 0; id < tokenizer->vocabulary_size(); ++id) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    tokens.emplace_back(tokenizer->token(id));
    if (tokenizer->token(id).data() == nullptr)
      return corrupt_file(source, "no token has the id ", id, ", but the largest id is ",
                          tokenizer->vocabulary_size() - 1, "; each id must have a token");
  }
  if (const auto unknown = tokenizer->unknown_id(); unknown && tokenizer->token(*unknown).empty())
    return invalid_argument(source,
                            ": the unknown token is empty, which is not supported; a token with a text is");
  return TokenizerContent{std::move(tokens), std::move(tokenizer)};
}

StaticEncoder::StaticEncoder(std::shared_ptr<const Tokenizer> tokenizer, StoredTokenizerPtr stored,
                             size_t median_length)
    : tokenizer_(std::move(tokenizer)), stored_(std::move(stored)) {
  if (stored_->rules != EncodingRules::kModel2Vec) return;
  most_ids_ = kMostIds;
  most_characters_ = kMostIds * median_length;
  if (tokenizer_->names_unknown()) dropped_ = tokenizer_->unknown_id();
}

Result<std::shared_ptr<const StaticEncoder>> StaticEncoder::make(const Model& model,
                                                                 const InterruptCheck& interrupted) {
  const StoredTokenizerPtr& stored = model.source().tokenizer;
  if (stored->json.empty() || stored->tokens != model.words())
    return invalid_argument(model.path(),
                            ": this is one shard of a model with a tokenizer, which encodes no texts; load "
                            "the index of all shards");
  std::shared_ptr<const Tokenizer> tokenizer = stored->parsed;
  if (tokenizer == nullptr) {
    GLOVE_ASSIGN_OR_RETURN(tokenizer, Tokenizer::parse(stored->json, model.path(), interrupted));
  }
  if (static_cast<int64_t>(tokenizer->vocabulary_size()) != stored->tokens)
    return corrupt_file(model.path(), "the tokenizer has ", tokenizer->vocabulary_size(),
                        " tokens, but there are ", stored->tokens, " rows; the file is damaged");
  if (!std::ranges::all_of(stored->weights, [](double weight) { return std::isfinite(weight); }))
    return corrupt_file(model.path(), "a weight of a token is NaN or infinite; the file is damaged");
  size_t median_length = 0;
  if (stored->rules == EncodingRules::kModel2Vec) {
    InterruptPoll poll(interrupted);
    GLOVE_ASSIGN_OR_RETURN(median_length, median_token_length(*tokenizer, poll));
  }
  return std::shared_ptr<const StaticEncoder>(new StaticEncoder(std::move(tokenizer), stored, median_length));
}

// Returns the first characters, at most most_characters_. A byte that belongs to no character counts as one.
std::string_view StaticEncoder::cut(std::string_view text, InterruptPoll& poll) const {
  constexpr size_t kCharactersBetweenPolls = 4096;
  if (text.size() <= most_characters_) return text;
  size_t end = 0;
  for (size_t count = 1; count <= most_characters_ && end < text.size(); ++count) {
    if (count % kCharactersBetweenPolls == 0 && poll.stop()) break;
    end += std::max<size_t>(1, utf8_character_length(text.substr(end)));
  }
  return text.substr(0, end);
}

// Leaves the ids in scratch.ids, without those that encode() drops at the end.
Status StaticEncoder::find_ids(std::string_view text, Scratch& scratch,
                               const InterruptCheck& interrupted) const {
  scratch.ids.clear();
  InterruptPoll poll(interrupted);
  text = cut(text, poll);
  if (poll.stopped()) return interrupted_error();
  return tokenizer_->encode(text, /*add_special_tokens=*/false, scratch.tokenizer, interrupted, scratch.ids);
}

Status StaticEncoder::add_rows(const Model& model, Scratch& scratch,
                               const InterruptCheck& interrupted) const {
  constexpr size_t kRowsBetweenPolls = 64;
  InterruptPoll poll(interrupted);
  double* const sum = scratch.sum.data();
  const size_t dims = scratch.sum.size();
  for (size_t i = 0; i < scratch.ids.size(); ++i) {
    if (i % kRowsBetweenPolls == 0) GLOVE_RETURN_IF_ERROR(poll.check());
    const float* const row = model.vector(scratch.ids[i]);
    if (stored_->weights.empty()) {
      for (size_t j = 0; j < dims; ++j) sum[j] += static_cast<double>(row[j]);
    } else {
      const double weight = stored_->weights[scratch.ids[i]];
      for (size_t j = 0; j < dims; ++j) sum[j] += weight * static_cast<double>(row[j]);
    }
  }
  return {};
}

Result<bool> StaticEncoder::encode(const Model& model, std::string_view text, Scratch& scratch,
                                   const InterruptCheck& interrupted) const {
  const auto dims = static_cast<size_t>(model.dims());
  scratch.sum.assign(dims, 0.0);
  scratch.vector.resize(dims);
  GLOVE_RETURN_IF_ERROR(find_ids(text, scratch, interrupted));
  std::vector<uint32_t>& ids = scratch.ids;
  if (dropped_) std::erase(ids, *dropped_);
  if (ids.size() > most_ids_) ids.resize(most_ids_);
  if (ids.empty()) return false;
  GLOVE_RETURN_IF_ERROR(add_rows(model, scratch, interrupted));
  const auto count = static_cast<double>(ids.size());
  for (double& value : scratch.sum) value /= count;
  if (stored_->normalize) normalize(stored_->rules, scratch.sum);
  return round_sum(scratch);
}

Result<bool> IdTokens::next(EncodedToken& token, const InterruptCheck&) {
  if (next_ == ids_.size() || most_ == 0) return false;
  const uint32_t id = ids_[next_++];
  token = {tokenizer_.token(id), std::nullopt, std::nullopt};
  if (id == dropped_) return true;
  --most_;
  token.id = static_cast<int32_t>(id);
  token.weight = weights_.empty() ? 1 : weights_[id];
  return true;
}

Result<std::unique_ptr<TextEncoder::Tokens>> StaticEncoder::tokens(const Model&, std::string_view text,
                                                                   const InterruptCheck& interrupted) const {
  Scratch scratch;
  GLOVE_RETURN_IF_ERROR(find_ids(text, scratch, interrupted));
  return std::unique_ptr<Tokens>(
      std::make_unique<IdTokens>(*tokenizer_, std::move(scratch.ids), stored_->weights, dropped_, most_ids_));
}

}  // namespace glove
