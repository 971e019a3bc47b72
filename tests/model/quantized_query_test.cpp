// The bound that makes a scan certain: for every row, estimate - error <= similarity <= estimate + error.
#include "model/quantized_query.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "model/exact_dot.h"
#include "search/nearest.h"
#include "tests/cosine_similarity.h"
#include "tests/loader/random.h"
#include "tests/search/random_model.h"
#include "tests/search/reference.h"
#include "tests/share.h"

namespace glove {
namespace {

using namespace glove::testing;

int32_t code_sum(const Model& model, int64_t row, const QuantizedQuery& query) {
  int64_t sum = 0;
  for (int64_t j = 0; j < model.dims(); ++j)
    sum +=
        int64_t{model.parts().front().level(8).codes[static_cast<size_t>(code_index(row, j, model.dims()))]} *
        query.codes[static_cast<size_t>(j)];
  EXPECT_LE(std::abs(sum), INT32_MAX);
  return static_cast<int32_t>(sum);
}

void check_bounds(const Model& model, const Query& query, int32_t max_code) {
  const QuantizedQuery quantized = quantize_query(query.vector, query.norm_squared, max_code);
  for (int64_t i = 0; i < model.words(); ++i) {
    const auto row = static_cast<size_t>(i);
    const float estimate = quantized.bound.estimate(static_cast<float>(code_sum(model, i, quantized)),
                                                    model.parts().front().level(8).scales[row]);
    const float error = quantized.bound.error(model.parts().front().level(8).residuals[row]);
    if (model.norm_squared(i) == 0) {
      EXPECT_EQ(estimate - error, -INFINITY);
      EXPECT_EQ(estimate + error, INFINITY);
      continue;
    }
    const double similarity =
        cosine_similarity(query.vector, {model.vector(i), static_cast<size_t>(model.dims())}).value();
    ASSERT_LE(estimate - error, similarity) << "row " << i << ", dims " << model.dims();
    ASSERT_GE(estimate + error, similarity) << "row " << i << ", dims " << model.dims();
  }
}

TEST(QuantizedQuery, EveryInstructionSetReturnsTheSameBits) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const int64_t dims : {1, 2, 3, 4, 5, 7, 8, 31, 100, 301, 4096})
    for (const Rows kind : kAllRows)
      for (const int32_t max_code : {1, 7, 127, 2047, 32767}) {
        const std::vector<float> vector = random_vector(random, dims, kind);
        const double norm_squared = exact_dot(vector.data(), vector.data(), dims);
        if (!(norm_squared > 0)) continue;
        const QuantizedQuery plain = quantize_query_plain(vector, norm_squared, max_code);
        const QuantizedQuery fast = quantize_query(vector, norm_squared, max_code);
        ASSERT_EQ(fast.codes, plain.codes) << "dims " << dims << ", max_code " << max_code;
        ASSERT_EQ(fast.code_sum, plain.code_sum);
        ASSERT_EQ(fast.scale, plain.scale);
        ASSERT_EQ(std::memcmp(&fast.bound, &plain.bound, sizeof(fast.bound)), 0);
      }
}

TEST(QuantizedQuery, BoundsHoldForRandomAndAdversarialRows) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const int64_t dims : {1, 2, 3, 4, 5, 31, 100, 301, 4096})
    for (const Rows kind : kAllRows) {
      const ModelPtr model = random_model(random, dims > 1000 || test::kShare != 1 ? 20 : 150, dims, kind);
      for (const int32_t max_code : {1, 7, 127, 2047, 32767}) {
        const Rows query_kind = kAllRows[random() % 8];
        const auto query =
            query_for_vector(*model, bytes_of(random_vector(random, dims, query_kind))).value();
        if (query) check_bounds(*model, *query, max_code);
        const auto word = query_for_word(*model, "w3");
        if (word) check_bounds(*model, *word, max_code);
      }
    }
}

// Rows and queries that round the wrong way in every component, where the bound is as tight as it gets.
TEST(QuantizedQuery, BoundsHoldForTheWorstRoundings) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (int run = 0; run < 200; ++run) {
    const int64_t dims = 1 + static_cast<int64_t>(random() % 64);
    const auto vector = [&] {
      std::vector<float> x(static_cast<size_t>(dims));
      for (float& value : x)
        value = (static_cast<float>(random() % 255) - 127.0f + 0.5f) * (random() % 9 ? 1.0f : 1e-4f);
      x[random() % x.size()] = 127;
      return x;
    };
    ModelBuilder builder("test");
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(builder.add(word_name(i), vector()).value());
    const ModelPtr model = builder.finish(1).value();
    for (const int32_t max_code : {127, 32767})
      check_bounds(*model, *query_for_vector(*model, bytes_of(vector())).value(), max_code);
  }
}

// The largest sum that any file and any query can make, codes of -128 included, fits in 32 bits.
TEST(QuantizedQuery, SumsCannotOverflow) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const int64_t dims : {1, 2, 16, 100, 300, 1000, 4096, 65536})
    for (const int32_t max_code : {127, 32767})
      for (const bool flat : {true, false}) {
        Query query;
        query.vector = flat ? std::vector<float>(static_cast<size_t>(dims), 1.0f)
                            : random_vector(random, dims, Rows::kGaussian);
        query.norm_squared = reference_dot(query.vector.data(), query.vector.data(), dims);
        const QuantizedQuery quantized = quantize_query(query.vector, query.norm_squared, max_code);
        int64_t worst = 0, sum = 0;
        for (const int16_t code : quantized.codes) {
          worst += 128 * std::abs(int64_t{code});
          sum += code;
          EXPECT_LE(std::abs(code), max_code);
        }
        EXPECT_LT(worst, int64_t{1} << 31) << dims;
        EXPECT_EQ(sum, quantized.code_sum);
        EXPECT_EQ(static_cast<int64_t>(quantized.codes.size()), (dims + 3) / 4 * 4);
        EXPECT_LT(quantized.bound.error_offset, max_code == 127 ? 0.3f : 0.01f)
            << "a bound that is no use: " << dims;
      }
}

}  // namespace
}  // namespace glove
