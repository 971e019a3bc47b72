// Words, vectors and expressions -> queries, bit for bit.
#include "search/query.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "search/expression.h"
#include "tests/loader/random.h"
#include "tests/search/random_model.h"
#include "tests/search/reference.h"

namespace glove {
namespace {

using namespace glove::testing;

ModelPtr small_model() {
  ModelBuilder builder("test");
  for (const auto& [word, vector] : std::vector<std::pair<std::string, std::vector<float>>>{
           {"king", {3, 4}}, {"man", {0, 2}}, {"nothing", {0, -0.0f}}, {"new york", {-5, 0}}, {"-", {1, 1}}})
    EXPECT_TRUE(builder.add(word, vector).value());
  return builder.finish(1).value();
}

TEST(Query, NearAWordIsItsRow) {
  const ModelPtr model = small_model();
  for (const char* word : {"king", "KING", "King"}) {
    const MaybeQuery query = query_for_word(*model, word);
    ASSERT_TRUE(query);
    EXPECT_EQ(query->vector, (std::vector<float>{3, 4}));
    EXPECT_EQ(query->norm_squared, 25);
    EXPECT_EQ(query->excluded, std::vector<int32_t>{0});
  }
  EXPECT_FALSE(query_for_word(*model, "queen"));
  EXPECT_FALSE(query_for_word(*model, ""));
  EXPECT_FALSE(query_for_word(*model, "nothing")) << "a zero vector has no direction";
  EXPECT_EQ(query_for_word(*model, "-")->excluded, std::vector<int32_t>{4}) << "word is never parsed";
}

TEST(Query, NearAVector) {
  const ModelPtr model = small_model();
  const float infinity = std::numeric_limits<float>::infinity();
  const auto blob = [&](std::vector<float> vector) { return query_for_vector(*model, bytes_of(vector)); };
  EXPECT_EQ(blob({1, 2}).value()->vector, (std::vector<float>{1, 2}));
  EXPECT_TRUE(blob({1, 2}).value()->excluded.empty());
  EXPECT_FALSE(blob({0, -0.0f}).value());
  EXPECT_EQ(blob({1, 2, 3}).error().message,
            "the vector has 12 bytes; the model's 2 dimensions need 8 (float32, little-endian)");
  EXPECT_EQ(query_for_vector(*model, std::span<const std::byte>()).error().message,
            "the vector has 0 bytes; the model's 2 dimensions need 8 (float32, little-endian)");
  EXPECT_EQ(blob({1, std::nanf("")}).error().message,
            "component 2 of the vector is NaN; every component must be finite");
  EXPECT_EQ(blob({-infinity, 1}).error().message,
            "component 1 of the vector is infinite; every component must be finite");
  alignas(4) std::byte misaligned[9] = {};
  const float values[2] = {5, 6};
  std::memcpy(misaligned + 1, values, 8);
  EXPECT_EQ(query_for_vector(*model, {misaligned + 1, 8}).value()->vector, (std::vector<float>{5, 6}));
}

TEST(Query, ExpressionsAddUnitVectors) {
  const ModelPtr model = small_model();
  const MaybeQuery query = query_for_expression(*model, "man - King + 2 * \"new york\" - man").value();
  ASSERT_TRUE(query);
  EXPECT_EQ(query->vector, (std::vector<float>{static_cast<float>(-3.0 * (1.0 / 5) - 2),
                                               static_cast<float>(-4.0 * (1.0 / 5))}));
  EXPECT_EQ(query->excluded, (std::vector<int32_t>{0, 1, 3})) << "ascending, each once";
  EXPECT_FALSE(query_for_expression(*model, "king - queen").value()) << "an unknown word";
  EXPECT_FALSE(query_for_expression(*model, "king - king").value()) << "a zero vector";
  EXPECT_FALSE(query_for_expression(*model, "0 * king").value());
  EXPECT_FALSE(query_for_expression(*model, "nothing").value());
  const MaybeQuery with_zero_row = query_for_expression(*model, "nothing + man").value();
  EXPECT_EQ(with_zero_row->vector, (std::vector<float>{0, 1}));
  EXPECT_EQ(with_zero_row->excluded, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(query_for_expression(*model, "king man").error().code, ErrorCode::kInvalidArgument);
}

TEST(Query, OverflowIsAnError) {
  const ModelPtr model = small_model();
  EXPECT_TRUE(query_for_expression(*model, "3.4e38 * man").value());
  const auto problem = [&](const std::string& text) {
    return query_for_expression(*model, text).error().message;
  };
  EXPECT_EQ(problem("3.5e38 * man"),
            "expression '3.5e38 * man': component 2 of its vector overflows float32; use smaller weights");
  for (const std::string text : {"1e300 * (1e300 * man)", "1e300 * (1e300 * (man - man))"})
    EXPECT_EQ(problem(text),
              "expression '" + text + "': component 1 of its vector overflows float32; use smaller weights")
        << "an infinite weight times zero is no number";
  // The first double that rounds to an infinite float, and the one before it.
  EXPECT_FALSE(query_for_expression(*model, "340282356779733661637539395458142568448 * man").ok());
  EXPECT_TRUE(query_for_expression(*model, "340282356779733623858607532500980858880 * man").ok());
}

TEST(Query, NearAndExpression) {
  const ModelPtr model = small_model();
  const MaybeQuery both = query_for_word_and_expression(*model, "-", "- king + man").value();
  const MaybeQuery one = query_for_expression(*model, "\"-\" - king + man").value();
  EXPECT_EQ(both->vector, one->vector);
  EXPECT_EQ(both->excluded, one->excluded);
  EXPECT_FALSE(query_for_word_and_expression(*model, "queen", "- man").value());
  EXPECT_EQ(query_for_word_and_expression(*model, "king", "man + king").error().message,
            "expression 'man + king' must start with '+' or '-' when word is given too; or leave word out");
  EXPECT_EQ(query_for_word_and_expression(*model, "king", "").error().code, ErrorCode::kInvalidArgument);
}

// The formula of the document, one component at a time, with separately rounded products and sums.
TEST(Query, ExpressionBits) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const Rows kind : kAllRows) {
    const int64_t dims = 1 + static_cast<int64_t>(random() % 70);
    const ModelPtr model = random_model(random, 40, dims, kind);
    for (int i = 0; i < 50; ++i) {
      std::string text;
      for (uint64_t m = 0; m <= random() % 6; ++m) {
        if (m) text += random() % 2 ? " + " : " - ";
        text += std::to_string(random() % 5) + ".25 * w" + std::to_string(random() % 40);
      }
      const auto terms = parse_expression(text).value();
      std::vector<float> wanted;
      for (int64_t j = 0; j < dims; ++j) {
        volatile double sum = 0;
        for (const Term& term : terms) {
          const float* x = model->vector(*model->vocabulary().find(term.word));
          const double norm_squared = reference_dot(x, x, dims);
          if (norm_squared == 0) continue;
          volatile double product = (term.weight / std::sqrt(norm_squared)) * double{x[j]};
          sum = sum + product;
        }
        wanted.push_back(static_cast<float>(sum));
      }
      const auto query = query_for_expression(*model, text);
      ASSERT_TRUE(query.ok()) << text;
      if (!query.value()) continue;
      EXPECT_EQ(std::memcmp(query.value()->vector.data(), wanted.data(), wanted.size() * 4), 0) << text;
      EXPECT_EQ(query.value()->norm_squared, reference_dot(wanted.data(), wanted.data(), dims));
    }
  }
}

}  // namespace
}  // namespace glove
