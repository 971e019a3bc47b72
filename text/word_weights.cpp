#include "text/word_weights.h"

#include <utility>

namespace glove {

WordWeights WordWeights::of_rank(int64_t words, double a) {
  double harmonic = 0;
  for (int64_t rank = 1; rank <= words; ++rank) harmonic += 1 / static_cast<double>(rank);
  return {WeightSource::kZipf, a, harmonic};
}

WordWeights WordWeights::none(int64_t words) {
  return {WeightSource::kNone, 1, static_cast<double>(words)};
}

WordWeights WordWeights::of_counts(std::shared_ptr<const std::vector<double>> counts, double a) {
  double total = 0;
  for (const double count : *counts) total += count;
  WordWeights weights(WeightSource::kModel, a, total);
  weights.counts_ = std::move(counts);
  return weights;
}

}  // namespace glove
