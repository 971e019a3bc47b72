// Rows -> model: ids, lookups, norms, and the bound that the codes promise.
#include "model/model_builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/float_environment.h"
#include "loader/row_transform.h"
#include "model/exact_dot.h"
#include "tests/loader/random.h"
#include "tests/model/parts.h"

namespace glove {
namespace {

using testing::random_source;

TEST(ModelBuilder, KeepsRowsInOrderAndTheFirstOfEachWord) {
  ModelBuilder builder("rows");
  EXPECT_TRUE(builder.add("the", std::vector<float>{1, 2, 3}).value());
  EXPECT_TRUE(builder.add("New York", std::vector<float>{0, 0, 0}).value());
  EXPECT_FALSE(builder.add("the", std::vector<float>{4, 5, 6}).value());
  EXPECT_TRUE(builder.add("paris", std::vector<float>{7, 8, 9}).value());
  EXPECT_EQ(builder.assembler().counts().duplicates, 1);
  const ModelPtr model = builder.finish().value();
  ASSERT_EQ(model->words(), 3);
  ASSERT_EQ(model->dims(), 3);
  EXPECT_EQ(model->vector(0)[2], 3.0f);
  EXPECT_EQ(model->vector(2)[0], 7.0f);
  EXPECT_EQ(model->norm_squared(0), 14.0);
  const Vocabulary& vocabulary = model->vocabulary();
  EXPECT_EQ(vocabulary.word(1), "New York");
  EXPECT_EQ(vocabulary.find("paris"), 2);
  EXPECT_EQ(vocabulary.find("PARIS"), 2);
  EXPECT_EQ(vocabulary.find_exact("PARIS"), std::nullopt);
  EXPECT_EQ(vocabulary.find("New York"), 1);
  EXPECT_EQ(vocabulary.find("new york"), std::nullopt);
  EXPECT_EQ(vocabulary.word(3), "");
  EXPECT_EQ(vocabulary.lower_bound("p"), 1);
  EXPECT_EQ(vocabulary.sorted_id(0), 1);
  EXPECT_EQ(vocabulary.sorted_id(3), -1);
}

TEST(ModelBuilder, KeepsIntegerKeysAsDecimalText) {
  ModelBuilder builder("rows");
  EXPECT_TRUE(builder.add(5, std::vector<float>{1}).value());
  EXPECT_TRUE(builder.add(std::numeric_limits<int64_t>::min(), std::vector<float>{2}).value());
  EXPECT_FALSE(builder.add(5, std::vector<float>{3}).value());
  EXPECT_EQ(builder.add("5", std::vector<float>{3}).error().message,
            "rows: row 4 has the TEXT word '5', but the rows before have INTEGER words; use one type");
  const ModelPtr integers = builder.finish().value();
  EXPECT_EQ(integers->vocabulary().key_type(), KeyType::kInteger);
  EXPECT_EQ(integers->vocabulary().find("5"), 0);
  EXPECT_EQ(integers->vocabulary().word(1), "-9223372036854775808");
  ASSERT_TRUE(builder.add("a", std::vector<float>{1}).ok()) << "an empty builder takes either type";
  EXPECT_EQ(builder.add(6, std::vector<float>{1}).error().message,
            "rows: row 2 has the INTEGER word 6, but the rows before have TEXT words; use one type");
  EXPECT_EQ(builder.finish().value()->vocabulary().key_type(), KeyType::kText);
}

TEST(IntegerWord, OnlyCanonicalTextIsAKey) {
  GLOVE_TRACE_SEED();
  auto random = random_source();
  for (int i = 0; i < 10000; ++i) {
    const auto key = static_cast<int64_t>(random()) >> (random() % 64);
    EXPECT_EQ(integer_key(integer_word(key)), key);
    EXPECT_EQ(integer_key("0" + integer_word(key)), std::nullopt);
  }
  for (const int64_t key :
       {std::numeric_limits<int64_t>::min(), int64_t{0}, std::numeric_limits<int64_t>::max()})
    EXPECT_EQ(integer_key(std::to_string(key)), key);
  for (const char* text : {"", "-", "-0", "00", "05", "-05", "+5", " 5", "5 ", "5.0", "5e0", "0x5", "five",
                           "9223372036854775808", "-9223372036854775809"})
    EXPECT_EQ(integer_key(text), std::nullopt) << text;
}

// Rows that are added in blocks make the same model as the same rows added singly.
TEST(ModelBuilder, TakesRowsOrBlocks) {
  GLOVE_TRACE_SEED();
  auto random = random_source();
  const ScopedFloatEnvironment environment;
  std::normal_distribution<float> normal;
  for (const int64_t dims : {1, 6, 33}) {
    ModelBuilder singly("singly");
    ModelBuilder in_blocks("blocks");
    for (int block = 0; block < 30; ++block) {
      std::vector<std::string> words(random() % 70);
      RowBlock rows;
      for (std::string& word : words) {
        std::vector<float> vector(static_cast<size_t>(dims));
        if (random() % 10 != 0)
          for (float& x : vector) x = normal(random);
        word = "w" + std::to_string(random() % 500);
        ASSERT_TRUE(singly.add(word, vector).ok());
        rows.vectors.insert(rows.vectors.end(), vector.begin(), vector.end());
      }
      rows.words.assign(words.begin(), words.end());
      DerivedRows derived;
      ASSERT_TRUE(transform_and_derive("blocks", {}, dims, rows, derived).ok());
      ASSERT_TRUE(
          in_blocks.assembler().append(dims, rows, derived, std::numeric_limits<int64_t>::max()).value());
    }
    EXPECT_EQ(in_blocks.assembler().counts().duplicates, singly.assembler().counts().duplicates);
    const ModelPtr wanted = singly.finish(1).value();
    const ModelPtr got = in_blocks.finish(2).value();
    testing::expect_same_parts(*got, *wanted);
    for (int64_t i = 0; i < wanted->words(); ++i) {
      EXPECT_EQ(wanted->vocabulary().word(i), got->vocabulary().word(i));
      EXPECT_EQ(wanted->vocabulary().sorted_id(i), got->vocabulary().sorted_id(i));
    }
  }
}

TEST(ModelBuilder, NamesTheRowThatIsWrong) {
  const float infinity = std::numeric_limits<float>::infinity();
  ModelBuilder builder("t");
  ASSERT_TRUE(builder.add("a", std::vector<float>{1, 2}).ok());
  EXPECT_EQ(builder.add("b", std::vector<float>{1}).error().message,
            "t: row 2 has a vector of 1 component, but the rows before have 2");
  EXPECT_EQ(builder.add("", std::vector<float>{1, 2}).error().message, "t: row 3 has an empty word");
  EXPECT_EQ(builder.add("c", std::vector<float>{1, -infinity}).error().message,
            "t: row 4 has a component, number 2, that is infinite");
  EXPECT_EQ(builder.add("c", std::vector<float>{std::nanf(""), 2}).error().message,
            "t: row 5 has a component, number 1, that is NaN");
  EXPECT_EQ(builder.add("c", {}).error().message, "t: row 6 has a vector without components");
  EXPECT_EQ(builder.finish().value()->words(), 1);
  EXPECT_EQ(builder.finish().error().message, "t: there is no row to make a model of");
}

TEST(ModelBuilder, AnInterruptStopsTheLastStep) {
  ModelBuilder builder("t");
  ASSERT_TRUE(builder.add("a", std::vector<float>{1, 2}).ok());
  const Result<ModelPtr> model = builder.finish(1, [] { return true; });
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, ErrorCode::kInterrupted);
}

TEST(ModelBuilder, CodesAreWithinTheirResidual) {
  GLOVE_TRACE_SEED();
  auto random = random_source();
  for (const int64_t dims : {1, 2, 3, 4, 5, 7, 8, 9, 31, 100, 301}) {
    const int64_t rows = 1 + static_cast<int64_t>(random() % 100);
    std::normal_distribution<float> normal;
    ModelBuilder builder("random");
    for (int64_t row = 0; row < rows; ++row) {
      const float size = std::pow(10.0f, static_cast<float>(random() % 60) - 30.0f);
      std::vector<float> vector(static_cast<size_t>(dims));
      if (row % 17 != 5)
        for (float& component : vector) component = size * normal(random);
      ASSERT_TRUE(builder.add(std::to_string(row), vector).ok());
    }
    const ModelPtr model = builder.finish().value();
    const CodeLevel& level = model->parts().front().level(8);
    for (int64_t row = 0; row < rows; ++row) {
      const auto i = static_cast<size_t>(row);
      const float* x = model->vector(row);
      ASSERT_EQ(model->norm_squared(row), exact_dot(x, x, dims));
      if (model->norm_squared(row) == 0) {
        EXPECT_EQ(level.scales[i], 0.0f);
        EXPECT_TRUE(std::isinf(level.residuals[i]));
        continue;
      }
      long double distance = 0;
      for (int64_t j = 0; j < dims; ++j) {
        const int code = level.codes[static_cast<size_t>(code_index(row, j, dims))];
        ASSERT_GE(code, -127);
        const long double u = x[j] / std::sqrt(static_cast<long double>(model->norm_squared(row)));
        distance += std::pow(u - static_cast<long double>(level.scales[i]) * code, 2.0L);
      }
      ASSERT_LE(std::sqrt(distance), level.residuals[i]);
      ASSERT_GT(level.scales[i], 0.0f);
      ASSERT_LT(level.residuals[i], 0.01f * std::sqrt(static_cast<float>(dims)));
      // fast_paths_test.cpp checks the residuals of 4 bits.
      ASSERT_GT(model->parts().front().level(4).scales[i], 0.0f);
    }
  }
}

}  // namespace
}  // namespace glove
