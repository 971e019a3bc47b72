// The directions that the vectors of all texts share, which say nothing about what a text means.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/points.h"
#include "base/cancel.h"
#include "base/status.h"
#include "model/model.h"
#include "model/stored_components.h"
#include "text/word_weights.h"

namespace glove {

// The most components that can be removed, and how many words they are derived from at most.
constexpr int64_t kMostCommonComponents = 10;
constexpr int64_t kCommonComponentWords = 50000;

// The leading eigenvectors of the sum of p_i * w_i^2 * x_i x_i^T over the first min(n, 50,000) words, which
// is not centred. p_i is the word's frequency, w_i its weight and x_i its raw row.
struct CommonComponents {
  int64_t dims = 0;
  int64_t count = 0;           // min(kMostCommonComponents, dims - 1)
  std::vector<float> vectors;  // [count, dims]: row c is component c, of length 1 up to the rounding to float

  // Removes the first `components` of them, one after the other, from a vector. REQUIRES: 0 <= components <=
  // count; vector[dims]; the float environment.
  void remove(int64_t components, std::span<double> vector) const;
};

// Derives them, with a pass over the words. Errors: an interrupt; more dimensions than principal components
// are computed for. Opens its own float environment.
Result<CommonComponents> derive_common_components(Analysis& analysis, const ModelPtr& model,
                                                  const WordWeights& weights,
                                                  const InterruptCheck& interrupted);
// The same of rows that are not a model yet. Reads the vectors of the points and nothing else. REQUIRES:
// `points` are the first min(words, kCommonComponentWords) rows.
Result<CommonComponents> derive_common_components(Analysis& analysis, const Points& points,
                                                  const WordWeights& weights,
                                                  const InterruptCheck& interrupted);

// What a model file keeps: all components, for weights by Zipf's law with kDefaultSifParameter. `words` is
// the number of words of the model. Returns nullptr if the model has none or they cannot be derived. Errors:
// an interrupt.
Result<std::shared_ptr<const StoredComponents>> derive_stored_components(Analysis& analysis,
                                                                         const Points& points, int64_t words,
                                                                         const InterruptCheck& interrupted);

// The components that the model's file contains, if they are those of these weights and there are `needed` of
// them; otherwise nullptr. They have the bits that derive_common_components() returns if this project has
// written the file.
std::shared_ptr<const CommonComponents> stored_common_components(const Model& model,
                                                                 const WordWeights& weights, int64_t needed);

}  // namespace glove
