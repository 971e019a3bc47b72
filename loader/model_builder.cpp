#include "loader/model_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "loader/exact_dot.h"
#include "loader/float_environment.h"
#include "loader/limits.h"
#include "loader/parallel.h"
#include "loader/word_set.h"

namespace glove {
namespace {

// What a finished model keeps alive.
struct HeapArrays {
  WordSet words;
  std::vector<int32_t> sorted_ids;
  std::vector<float> vectors;
  std::vector<double> norms_squared;
  std::vector<int8_t> codes;
  std::vector<float> scales;
  std::vector<float> residuals;
};

// Norms and codes of rows [first, last). REQUIRES: first is a multiple of kTileRows.
void derive_rows(HeapArrays& heap, int64_t dims, int64_t first, int64_t last) {
  const auto begin = static_cast<size_t>(first);
  const auto count = static_cast<size_t>(last - first);
  for (int64_t row = first; row < last; ++row) {
    const float* x = heap.vectors.data() + row * dims;
    heap.norms_squared[static_cast<size_t>(row)] = exact_dot(x, x, dims);
  }
  const std::span<const float> vectors(heap.vectors);
  quantize_rows(vectors.subspan(begin * static_cast<size_t>(dims), count * static_cast<size_t>(dims)),
                std::span<const double>(heap.norms_squared).subspan(begin, count), first, dims,
                heap.codes.data(), std::span(heap.scales).subspan(begin, count),
                std::span(heap.residuals).subspan(begin, count));
}

}  // namespace

struct ModelBuilder::State {
  std::string source;
  int64_t dims = 0;
  int64_t calls = 0;
  int64_t duplicates = 0;
  std::shared_ptr<HeapArrays> heap = std::make_shared<HeapArrays>();

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
  return state_->heap->words.size();
}
int64_t ModelBuilder::duplicates() const {
  return state_->duplicates;
}

Result<bool> ModelBuilder::add(std::string_view word, std::span<const float> vector) {
  State& state = *state_;
  ++state.calls;
  if (word.empty()) return state.row_error("has an empty word");
  if (static_cast<int64_t>(word.size()) > kMaxWordBytes)
    return state.row_error("has a word of " + std::to_string(word.size()) + " bytes; the most is " +
                           std::to_string(kMaxWordBytes));
  if (vector.empty()) return state.row_error("has a vector without components");
  const auto length = static_cast<int64_t>(vector.size());
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
  if (!state.heap->words.insert(word)) {
    ++state.duplicates;
    return false;
  }
  state.heap->vectors.insert(state.heap->vectors.end(), vector.begin(), vector.end());
  return true;
}

Result<ModelPtr> ModelBuilder::finish(int threads) {
  State& state = *state_;
  const int64_t rows = this->rows();
  if (rows == 0)
    return Error{ErrorCode::kInvalidArgument, state.source + ": there is no row to make a model of"};
  const int64_t dims = state.dims;
  const auto heap = std::exchange(state.heap, std::make_shared<HeapArrays>());
  state.dims = state.calls = state.duplicates = 0;
  const auto count = static_cast<size_t>(rows);
  heap->norms_squared.resize(count);
  heap->codes.resize(static_cast<size_t>(code_bytes(rows, dims)));
  heap->scales.resize(count);
  heap->residuals.resize(count);

  run_in_parallel(threads, tile_count(rows), [&](int64_t first_tile, int64_t last_tile) {
    const ScopedFloatEnvironment environment;
    derive_rows(*heap, dims, first_tile * kTileRows, std::min(rows, last_tile * kTileRows));
  });
  heap->sorted_ids = heap->words.sorted_ids();

  ModelArrays arrays;
  arrays.words = rows;
  arrays.dims = dims;
  arrays.vectors = heap->vectors;
  arrays.norms_squared = heap->norms_squared;
  arrays.codes = heap->codes;
  arrays.scales = heap->scales;
  arrays.residuals = heap->residuals;
  arrays.vocabulary = Vocabulary(heap->words.bytes(), heap->words.offsets(), heap->sorted_ids);
  Model::Source source;
  source.path = state.source;
  return ModelPtr(std::make_shared<const Model>(arrays, std::move(source), heap));
}

}  // namespace glove
