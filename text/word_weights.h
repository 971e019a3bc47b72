// How much a word counts in the vector of a text: smooth inverse frequency (Arora, Liang and Ma, "A Simple
// but Tough-to-Beat Baseline for Sentence Embeddings", ICLR 2017).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace glove {

// Where the frequencies come from.
enum class WeightSource {
  kZipf,   // the rank: p = 1 / (rank * H_n), for models whose words are in descending order of frequency
  kNone,   // every word has the weight 1
  kModel,  // counts that were loaded with the model
};

// The default of the weights' parameter a, which the components in model files also use.
constexpr double kDefaultSifParameter = 1e-4;

// The frequencies and weights of a model's words. Immutable; any thread may read it.
class WordWeights {
 public:
  // For kZipf and kNone. `words` is the number of words of the model, `a` > 0 the parameter of the weight.
  static WordWeights of_rank(int64_t words, double a) {
    double harmonic = 0;
    for (int64_t rank = 1; rank <= words; ++rank) harmonic += 1 / static_cast<double>(rank);
    return {WeightSource::kZipf, a, harmonic};
  }
  static WordWeights none(int64_t words) { return {WeightSource::kNone, 1, static_cast<double>(words)}; }
  // For kModel. counts: [words], each finite and at least 0, with a finite sum above 0.
  static WordWeights of_counts(std::shared_ptr<const std::vector<double>> counts, double a) {
    double total = 0;
    for (const double count : *counts) total += count;
    WordWeights weights(WeightSource::kModel, a, total);
    weights.counts_ = std::move(counts);
    return weights;
  }

  WeightSource source() const { return source_; }
  double a() const { return a_; }

  // Returns the estimated probability of the word with this id. REQUIRES: 0 <= id < words; the float
  // environment.
  double frequency(int64_t id) const {
    if (counts_ != nullptr) return (*counts_)[static_cast<size_t>(id)] / total_;
    return source_ == WeightSource::kZipf ? 1 / (static_cast<double>(id + 1) * total_) : 1 / total_;
  }
  // Returns a / (a + frequency). The same requirements.
  double weight(int64_t id) const { return source_ == WeightSource::kNone ? 1 : a_ / (a_ + frequency(id)); }

 private:
  WordWeights(WeightSource source, double a, double total) : source_(source), a_(a), total_(total) {}

  WeightSource source_;
  double a_;
  double total_;  // kZipf: H_n; kNone: the number of words; kModel: the sum of the counts
  std::shared_ptr<const std::vector<double>> counts_;
};

}  // namespace glove
