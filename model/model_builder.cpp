#include "model/model_builder.h"

#include <cmath>
#include <utility>
#include <vector>

#include "model/derived_arrays.h"
#include "model/limits.h"
#include "model/word_set.h"

namespace glove {
namespace {

// What a finished model keeps alive.
struct BuiltArrays {
  WordSet words;
  std::vector<float> vectors;
  DerivedArrays derived;
};

}  // namespace

struct ModelBuilder::State {
  std::string source;
  int64_t dims = 0;
  KeyType key_type = KeyType::kText;  // of the rows so far; any, if there is none
  int64_t calls = 0;
  int64_t duplicates = 0;
  std::shared_ptr<BuiltArrays> arrays = std::make_shared<BuiltArrays>();

  Error row_error(const std::string& what) const {
    return {ErrorCode::kInvalidArgument, source + ": row " + std::to_string(calls) + " " + what};
  }
};

ModelBuilder::ModelBuilder(std::string source) : state_(std::make_unique<State>()) {
  state_->source = std::move(source);
}
ModelBuilder::~ModelBuilder() = default;
ModelBuilder::ModelBuilder(ModelBuilder&&) noexcept = default;
ModelBuilder& ModelBuilder::operator=(ModelBuilder&&) noexcept = default;

int64_t ModelBuilder::rows() const {
  return state_->arrays->words.size();
}
int64_t ModelBuilder::duplicates() const {
  return state_->duplicates;
}

Result<bool> ModelBuilder::add(std::string_view word, std::span<const float> vector) {
  return add_key(KeyType::kText, word, vector);
}

Result<bool> ModelBuilder::add(int64_t key, std::span<const float> vector) {
  return add_key(KeyType::kInteger, integer_word(key), vector);
}

Result<bool> ModelBuilder::add_key(KeyType type, std::string_view word, std::span<const float> vector) {
  State& state = *state_;
  ++state.calls;
  if (rows() > 0 && type != state.key_type)
    return state.row_error(type == KeyType::kInteger
                               ? "has the INTEGER word " + std::string(word) +
                                     ", but the rows before have TEXT words; use one type"
                               : "has the TEXT word '" + std::string(word) +
                                     "', but the rows before have INTEGER words; use one type");
  if (word.empty()) return state.row_error("has an empty word");
  if (static_cast<int64_t>(word.size()) > kMaxWordBytes)
    return state.row_error("has a word of " + std::to_string(word.size()) + " bytes; the most is " +
                           std::to_string(kMaxWordBytes));
  const auto length = static_cast<int64_t>(vector.size());
  if (length == 0) return state.row_error("has a vector without components");
  if (length > kMaxDims)
    return state.row_error("has a vector of " + std::to_string(length) + " components; the most is " +
                           std::to_string(kMaxDims));
  if (state.dims != 0 && length != state.dims)
    return state.row_error("has a vector of " + std::to_string(length) +
                           " components, but the rows before have " + std::to_string(state.dims));
  for (size_t j = 0; j < vector.size(); ++j)
    if (!std::isfinite(vector[j]))
      return state.row_error("has a component, number " + std::to_string(j + 1) + ", that is " +
                             (std::isnan(vector[j]) ? "NaN" : "infinite"));
  if (rows() >= kMaxRows)
    return state.row_error("is one too many; a model holds " + std::to_string(kMaxRows) + " words at most");
  state.dims = length;
  state.key_type = type;
  if (!state.arrays->words.insert(word)) {
    ++state.duplicates;
    return false;
  }
  state.arrays->vectors.insert(state.arrays->vectors.end(), vector.begin(), vector.end());
  return true;
}

Result<ModelPtr> ModelBuilder::finish(int threads) {
  const std::shared_ptr<BuiltArrays> built = std::exchange(state_->arrays, std::make_shared<BuiltArrays>());
  const int64_t dims = std::exchange(state_->dims, 0);
  state_->calls = state_->duplicates = 0;
  ModelArrays arrays;
  arrays.words = built->words.size();
  arrays.dims = dims;
  if (arrays.words == 0)
    return Error{ErrorCode::kInvalidArgument, state_->source + ": there is no row to make a model of"};
  arrays.vectors = built->vectors;
  DerivedArrays& derived = built->derived;
  GLOVE_RETURN_IF_ERROR(derived.compute_rows(state_->source, arrays.vectors, arrays.words, dims, threads));
  derived.sorted_ids = built->words.sorted_ids(threads);
  arrays.norms_squared = derived.norms_squared;
  arrays.codes = derived.codes;
  arrays.scales = derived.scales;
  arrays.residuals = derived.residuals;
  arrays.vocabulary =
      Vocabulary(built->words.bytes(), built->words.offsets(), derived.sorted_ids, state_->key_type);
  Model::Source source;
  source.path = state_->source;
  return ModelPtr(std::make_shared<const Model>(arrays, std::move(source), built));
}

}  // namespace glove
