// Vectors of texts, against a plain reference.
#include "text/sentence_encoder.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/float_environment.h"
#include "model/model_builder.h"
#include "tests/analysis/analyses.h"
#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

constexpr int64_t kSentenceRows = 400;
constexpr double kA = 1e-3;

struct Case {
  ModelPtr model;
  std::shared_ptr<const CommonComponents> common;
};

Case make_case(int64_t dims, std::mt19937_64& random) {
  Case made{make_model(gaussian(kSentenceRows, dims, random)), nullptr};
  made.common = std::make_shared<const CommonComponents>(
      derive_common_components(*make_analysis(), made.model, WordWeights::of_rank(kSentenceRows, kA), {})
          .value());
  return made;
}

SentenceEncoder encoder_of(const Case& made, int64_t components, TokenizerOptions options = {}) {
  return {std::make_shared<const WordIndex>(made.model->vocabulary()),
          WordWeights::of_rank(kSentenceRows, kA), made.common, components, options};
}

// The definition in sentence_encoder.h.
std::vector<float> reference(const Case& made, const std::vector<int64_t>& ids, int64_t components) {
  const auto dims = static_cast<size_t>(made.model->dims());
  double harmonic = 0;
  for (int64_t rank = 1; rank <= kSentenceRows; ++rank) harmonic += 1 / static_cast<double>(rank);
  std::vector<double> sum(dims);
  for (const int64_t id : ids)
    for (size_t j = 0; j < dims; ++j) {
      const double p = 1 / (static_cast<double>(id + 1) * harmonic);
      sum[j] += kA / (kA + p) * static_cast<double>(made.model->vector(id)[j]);
    }
  for (double& value : sum) value /= static_cast<double>(ids.size());
  for (int64_t c = 0; c < components; ++c) {
    const float* const u = made.common->vectors.data() + static_cast<size_t>(c) * dims;
    double lanes[8] = {};
    for (size_t j = 0; j < dims; ++j) lanes[j % 8] += sum[j] * static_cast<double>(u[j]);
    const double share =
        ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    for (size_t j = 0; j < dims; ++j) sum[j] -= share * static_cast<double>(u[j]);
  }
  return {sum.begin(), sum.end()};
}

TEST(SentenceEncoder, HasTheBitsOfTheReference) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(65);
  SentenceEncoder::Scratch scratch;  // shared by models of different sizes
  for (const int64_t dims : {1, 3, 8, 17, 50}) {
    const Case made = make_case(dims, random);
    for (int round = 0; round < 40; ++round) {
      std::string text;
      std::vector<int64_t> ids;
      for (uint64_t i = random() % 30 + 1; i > 0; --i) {
        if (random() % 4 == 0) text += "unknown, ";
        ids.push_back(static_cast<int64_t>(random() % kSentenceRows));
        text += (random() % 2 ? "W" : "w") + std::to_string(ids.back()) + (random() % 2 ? " " : "-");
      }
      const int64_t components = std::min<int64_t>(made.common->count, static_cast<int64_t>(random() % 8));
      ASSERT_TRUE(encoder_of(made, components).encode(*made.model, text, scratch).value());
      ASSERT_EQ(scratch.vector, reference(made, ids, components)) << dims << " " << text;
    }
  }
}

TEST(SentenceEncoder, HasNoVectorWithoutAKnownWord) {
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(66);
  const Case made = make_case(4, random);
  SentenceEncoder::Scratch scratch;
  for (const std::string_view text : {std::string_view(), std::string_view("..."),
                                      std::string_view("nosuch word"), std::string_view("\0\xff", 2)})
    EXPECT_FALSE(encoder_of(made, 1).encode(*made.model, text, scratch).value()) << text;
}

TEST(SentenceEncoder, FindsWordsAsTheyAreWrittenFirst) {
  const ScopedFloatEnvironment environment;
  ModelBuilder builder("test");
  for (const auto& [word, x] : {std::pair("Bill", 1.0f), std::pair("bill", 2.0f), std::pair("zero", 0.0f)})
    ASSERT_TRUE(builder.add(word, std::vector<float>{x}).value());
  const ModelPtr model = builder.finish(1).value();
  const auto index = std::make_shared<const WordIndex>(model->vocabulary());
  SentenceEncoder::Scratch scratch;
  const SentenceEncoder lower(index, WordWeights::none(3), nullptr, 0, {true});
  const SentenceEncoder cased(index, WordWeights::none(3), nullptr, 0, {false});
  ASSERT_TRUE(lower.encode(*model, "Bill", scratch).value());
  EXPECT_EQ(scratch.vector[0], 2);
  ASSERT_TRUE(cased.encode(*model, "Bill", scratch).value());
  EXPECT_EQ(scratch.vector[0], 1);
  ASSERT_TRUE(cased.encode(*model, "BILL", scratch).value());
  EXPECT_EQ(scratch.vector[0], 2);
  EXPECT_FALSE(lower.encode(*model, "zero", scratch).value()) << "a zero vector has no direction";
}

TEST(SentenceEncoder, LongVectorsAreAnError) {
  const ScopedFloatEnvironment environment;
  ModelBuilder builder("test");
  ASSERT_TRUE(builder.add("a", std::vector<float>{3e38f, 3e38f}).value());
  ASSERT_TRUE(builder.add("b", std::vector<float>{3e38f, -3e38f}).value());
  const ModelPtr model = builder.finish(1).value();
  auto common = std::make_shared<CommonComponents>();
  common->dims = 2;
  common->count = 1;
  common->vectors = {1, -1};  // too long on purpose, so that removing it adds length
  const SentenceEncoder encoder(std::make_shared<const WordIndex>(model->vocabulary()), WordWeights::none(2),
                                common, 1, {});
  SentenceEncoder::Scratch scratch;
  const auto encoded = encoder.encode(*model, "b", scratch);
  ASSERT_TRUE(encoded.ok());
  common->vectors = {-1.5, 1.5};
  const auto overflow = encoder.encode(*model, "b", scratch);
  ASSERT_FALSE(overflow.ok());
  EXPECT_NE(overflow.error().message.find("component 1"), std::string::npos);
}

TEST(WordIndex, FindsWhatTheVocabularyFinds) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(67);
  const ModelPtr model = make_model(gaussian(kSentenceRows, 1, random));
  const WordIndex index(model->vocabulary());
  for (int round = 0; round < 2000; ++round) {
    const std::string word = "w" + std::to_string(random() % (2 * kSentenceRows));
    EXPECT_EQ(index.find(model->vocabulary(), word, WordSet::hash(word)),
              model->vocabulary().find_exact(word))
        << word;
  }
  EXPECT_EQ(index.find(model->vocabulary(), "", WordSet::hash("")), std::nullopt);
}

}  // namespace
}  // namespace glove::test
