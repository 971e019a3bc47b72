// The common components in model files: glove-convert derives them, and texts use them instead of deriving
// their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/float_environment.h"
#include "convert/convert.h"
#include "loader/open.h"
#include "loader/save_model.h"
#include "tests/analysis/analyses.h"
#include "tests/cpu/test_support.h"
#include "tests/loader/temporary_directory.h"
#include "text/common_components.h"
#include "text/sentence_encoder.h"

namespace glove::test {
namespace {

using testing::TemporaryDirectory;

// GloVe text of random rows; every seventh word repeats the one before.
std::string random_text(int64_t rows, int64_t dims, std::mt19937_64& random) {
  const Matrix matrix = gaussian(rows, dims, random);
  std::string text;
  for (int64_t row = 0; row < rows; ++row) {
    text += "w" + std::to_string(row % 7 == 3 ? row - 1 : row);
    for (int64_t j = 0; j < dims; ++j) text += " " + std::to_string(matrix.row(row)[j]);
    text += "\n";
  }
  return text;
}

ModelPtr open_verified(const std::string& path) {
  OpenOptions options;
  options.verify = true;
  const auto opened = open_model(path, options);
  EXPECT_TRUE(opened.ok()) << opened.error().message;
  return opened.ok() ? opened.value() : nullptr;
}

// The bits that texts would get if the file had no components.
std::vector<float> derived(const ModelPtr& model) {
  const ScopedFloatEnvironment environment;
  const WordWeights weights = WordWeights::of_rank(model->words(), kDefaultSifParameter);
  return derive_common_components(*make_analysis(), model, weights, {}).value().vectors;
}

TEST(StoredComponents, AreTheBitsThatWouldBeDerived) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(71);
  const TemporaryDirectory directory;
  const std::string path = directory.path("model.safetensors");
  for (const auto& [rows, dims] : {std::pair{1, 2}, {700, 2}, {5000, 13}, {51000, 3}}) {
    const std::string text = random_text(rows, dims, random);
    const std::string promised = std::to_string(rows) + " " + std::to_string(dims) + "\n" + text;
    for (const std::string& input :
         {directory.write("unknown.txt", text), directory.write("promised.vec", promised)})
      for (const bool transformed : {false, true}) {
        SCOPED_TRACE(input + " " + std::to_string(rows) + (transformed ? " transformed" : ""));
        const auto analysis = make_analysis();
        ConvertOptions options;
        options.analysis = analysis.get();
        options.normalize = transformed;
        options.top = transformed ? 40 : 0;
        const auto report = convert(input, path, options);
        ASSERT_TRUE(report.ok()) << report.error().message;
        const ModelPtr model = open_verified(path);
        ASSERT_NE(model, nullptr);
        const auto& stored = model->source().components;
        ASSERT_NE(stored, nullptr);
        EXPECT_EQ(stored->a, 1e-4);
        EXPECT_EQ(stored->words, model->words());
        EXPECT_EQ(stored->count, std::min<int64_t>(10, dims - 1));
        EXPECT_EQ(stored->vectors, derived(model));
      }
  }
}

TEST(StoredComponents, MakeTheSameFileOnEveryVariant) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(72);
  const TemporaryDirectory directory;
  const std::string input = directory.write("model.txt", random_text(4200, 21, random));
  const std::string path = directory.path("model.safetensors");
  std::string expected;
  for (const NamedAnalysis& named : all_analyses({1, 3})) {
    ConvertOptions options;
    options.analysis = named.analysis.get();
    ASSERT_TRUE(convert(input, path, options).ok());
    const std::string bytes = TemporaryDirectory::read(path);
    if (expected.empty()) expected = bytes;
    EXPECT_TRUE(bytes == expected) << named.name;
  }
}

TEST(StoredComponents, AreAbsentWithoutAnAnalysisAndInOneDimension) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(73);
  const TemporaryDirectory directory;
  const std::string path = directory.path("model.safetensors");
  const auto analysis = make_analysis();
  for (const int64_t dims : {1, 5}) {
    ConvertOptions options;
    if (dims == 1) options.analysis = analysis.get();
    ASSERT_TRUE(convert(directory.write("model.txt", random_text(50, dims, random)), path, options).ok());
    EXPECT_EQ(open_verified(path)->source().components, nullptr) << dims;
  }
}

TEST(StoredComponents, ServeOnlyTheWeightsTheyWereDerivedWith) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(74);
  const TemporaryDirectory directory;
  const std::string path = directory.path("model.safetensors");
  const auto analysis = make_analysis();
  ConvertOptions options;
  options.analysis = analysis.get();
  ASSERT_TRUE(convert(directory.write("model.txt", random_text(300, 6, random)), path, options).ok());
  const ModelPtr model = open_verified(path);
  const WordWeights zipf = WordWeights::of_rank(model->words(), kDefaultSifParameter);
  const auto found = stored_common_components(*model, zipf, 5);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->vectors, derived(model));
  EXPECT_EQ(stored_common_components(*model, zipf, 6), nullptr);
  EXPECT_EQ(stored_common_components(*model, WordWeights::of_rank(model->words(), 1e-3), 5), nullptr);
  EXPECT_EQ(stored_common_components(*model, WordWeights::none(model->words()), 5), nullptr);

  // A saved model has the same words and rows, and counts change none of them.
  const std::string copy = directory.path("copy.safetensors");
  const ModelPtr counted = with_counts(model, std::vector<double>(static_cast<size_t>(model->words()), 2.5));
  EXPECT_NE(stored_common_components(*counted, zipf, 5), nullptr);
  ASSERT_TRUE(save_model(*counted, copy, 0, {}).ok());
  const ModelPtr saved = open_verified(copy);
  EXPECT_EQ(saved->source().components->vectors, found->vectors);
  EXPECT_EQ(*saved->source().counts, *counted->source().counts);
  EXPECT_EQ(model->source().counts, nullptr);
}

TEST(StoredComponents, AnInterruptLeavesNoFile) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(75);
  const TemporaryDirectory directory;
  const std::string input = directory.write("model.txt", random_text(2000, 40, random));
  const auto analysis = make_analysis();
  ConvertOptions options;
  options.analysis = analysis.get();
  int calls = 0;
  for (int allowed = 0;; ++allowed) {  // stops at the first call, at the second, ... until none stops it
    calls = 0;
    options.interrupted = [&] { return calls++ >= allowed; };
    const auto report = convert(input, directory.path("model.safetensors"), options);
    if (report.ok()) break;
    EXPECT_EQ(report.error().code, ErrorCode::kInterrupted);
    EXPECT_EQ(directory.entries(), std::vector<std::string>{"model.txt"});
    ASSERT_LT(allowed, 1000);
  }
  EXPECT_EQ(directory.entries(), (std::vector<std::string>{"model.safetensors", "model.txt"}));
}

}  // namespace
}  // namespace glove::test
