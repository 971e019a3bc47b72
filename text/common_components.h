// The directions that the vectors of all texts share, which say nothing about what a text means.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "analysis/analysis.h"
#include "base/status.h"
#include "model/model.h"
#include "text/word_weights.h"

namespace glove {

// The maximum number of components that can be removed, and of words that they are derived from.
constexpr int64_t kMostCommonComponents = 10;
constexpr int64_t kCommonComponentWords = 50000;

// The leading eigenvectors of the sum of p_i * w_i^2 * x_i x_i^T over the first min(n, 50,000) words, which
// is not centred. p_i is the word's frequency, w_i its weight and x_i its raw row.
struct CommonComponents {
  int64_t dims = 0;
  int64_t count = 0;           // min(kMostCommonComponents, dims - 1)
  std::vector<float> vectors;  // [count, dims]: row c is component c, of length 1 up to the rounding to float

  // Memory that the vectors take.
  int64_t bytes() const { return static_cast<int64_t>(vectors.size() * sizeof(float)); }

  // Removes the first `components` components, one after the other, from a vector. REQUIRES: 0 <= components
  // <= count; vector[dims]; the float environment.
  void remove(int64_t components, std::span<double> vector) const;
};

// Derives the components in one pass over the words. Errors: an interrupt; more dimensions than principal
// components are computed for. Sets its own float environment.
Result<CommonComponents> derive_common_components(Analysis& analysis, const ModelPtr& model,
                                                  const WordWeights& weights,
                                                  const InterruptCheck& interrupted);

// The rows of a model that is being written. read(first, count) returns rows [first, first + count) as
// [count, dims], valid until the next call.
struct WrittenRows {
  int64_t words = 0;
  int64_t dims = 0;
  std::function<Result<std::span<const float>>(int64_t first, int64_t count)> read;
};

// A file with wider vectors contains no components, because deriving them would take longer than the rest of
// the conversion.
constexpr int64_t kMostStoredDims = 1024;

// Derives what a model file contains: all components, for weights by Zipf's law with kDefaultSifParameter,
// with the bits that derive_common_components() returns for the model in the file. Reads a few rows at a
// time. Returns nullptr if the model has one dimension or more than kMostStoredDims, or if the eigenvectors
// cannot be computed. Errors: an interrupt, and those of reading. Sets its own float environment.
Result<std::shared_ptr<const StoredComponents>> derive_stored_components(Analysis& analysis,
                                                                         const WrittenRows& rows,
                                                                         const InterruptCheck& interrupted);

// Returns the components that the model's file contains, or nullptr if they are for other weights or fewer
// than `needed`. If this project has written the file, they have the bits that derive_common_components()
// returns.
std::shared_ptr<const CommonComponents> stored_common_components(const Model& model,
                                                                 const WordWeights& weights, int64_t needed);

}  // namespace glove
