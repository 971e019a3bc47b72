// Random models for tests, with the rows that break searches.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "model/model_builder.h"

namespace glove::testing {

enum class Rows {
  kGaussian,
  kDuplicates,  // many rows equal, so ties are decided by id
  kNegative,    // every row points away from kFirstAxis' side
  kHuge,        // norms near 1e30
  kTiny,        // norms near 1e-30
  kDenormal,    // components are denormal floats
  kOneHot,      // one component, of either sign, beside zeros of either sign
  kMixed,       // each row of another kind, zero rows among them
};
constexpr Rows kAllRows[] = {Rows::kGaussian, Rows::kDuplicates, Rows::kNegative, Rows::kHuge,
                             Rows::kTiny,     Rows::kDenormal,   Rows::kOneHot,   Rows::kMixed};

inline std::vector<float> random_vector(std::mt19937_64& random, int64_t dims, Rows kind) {
  std::normal_distribution<float> normal;
  std::vector<float> vector(static_cast<size_t>(dims));
  if (kind == Rows::kMixed) {
    if (random() % 8 == 0) return vector;  // a zero row
    kind = kAllRows[random() % 7];
  }
  float factor = 1;
  if (kind == Rows::kHuge) factor = 1e30f;
  if (kind == Rows::kTiny) factor = 1e-30f;
  if (kind == Rows::kDenormal) factor = 1e-41f;
  for (float& x : vector) {
    x = normal(random) * factor;
    if (kind == Rows::kDuplicates) x = static_cast<float>(random() % 2);
    if (kind == Rows::kOneHot) x = random() % 2 ? 0.0f : -0.0f;
  }
  if (kind == Rows::kNegative) vector[0] = -std::abs(vector[0]) - 10;
  if (kind == Rows::kOneHot) vector[random() % vector.size()] = random() % 2 ? 2.5f : -2.5f;
  return vector;
}

inline std::string word_name(uint64_t id) {
  return std::string("w").append(std::to_string(id));
}

// Words are w0, w1, ... in the order of the ids.
inline ModelPtr random_model(std::mt19937_64& random, int64_t words, int64_t dims, Rows kind,
                             RowMetric metric = RowMetric::kCosine) {
  ModelBuilder builder("test");
  builder.set_metric(metric);
  for (int64_t i = 0; i < words; ++i)
    EXPECT_TRUE(builder.add(word_name(i), random_vector(random, dims, kind)).value());
  return builder.finish(1).value();
}

inline std::span<const std::byte> bytes_of(const std::vector<float>& vector) {
  return std::as_bytes(std::span<const float>(vector));
}

}  // namespace glove::testing
