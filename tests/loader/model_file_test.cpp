// Text -> model file -> mapped model: the same rows as the text read directly.
#include <gtest/gtest.h>

#include "convert/convert.h"
#include "loader/model_file.h"
#include "loader/open.h"
#include "tests/loader/random.h"
#include "tests/loader/temporary_directory.h"
#include "tests/model/parts.h"
#include "tests/share.h"

namespace glove {
namespace {

using testing::random_source;
using testing::TemporaryDirectory;

// GloVe text with words that hold spaces, duplicates and zero rows.
std::string random_text(int64_t rows, int64_t dims) {
  auto random = random_source();
  std::normal_distribution<float> normal;
  std::string text;
  for (int64_t row = 0; row < rows; ++row) {
    text += (row % 5 == 1 ? "new york " : "word") + std::to_string(row % 7 == 3 ? row - 1 : row);
    for (int64_t j = 0; j < dims; ++j) text += " " + (row % 11 == 4 ? "0" : std::to_string(normal(random)));
    text += "\n";
  }
  return text;
}

TEST(ModelFile, HoldsTheSameModelAsTheTextItCameFrom) {
  GLOVE_TRACE_SEED();
  const TemporaryDirectory directory;
  for (const auto& [rows, dims] : {std::pair{1, 1}, {31, 3}, {32, 4}, {33, 5}, {3000, 17}}) {
    const std::string text = directory.write("model.txt", random_text(rows, dims));
    const std::string file = directory.path("model.safetensors");
    const ConvertReport report = convert(text, file, {}).value();
    const ModelPtr read = open_model(text).value();
    OpenOptions options;
    options.verify = true;
    const auto opened = open_model(file, options);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const ModelPtr& mapped = opened.value();
    EXPECT_EQ(report.rows, mapped->words());
    EXPECT_EQ(report.notes.empty(), read->source().notes.empty());
    testing::expect_same_parts(*mapped, *read);
    for (int64_t id = 0; id < read->words(); ++id) {
      const std::string_view word = read->vocabulary().word(id);
      EXPECT_EQ(word, mapped->vocabulary().word(id));
      EXPECT_EQ(mapped->vocabulary().find_exact(word), id);
    }
    EXPECT_EQ(directory.entries(), (std::vector<std::string>{"model.safetensors", "model.txt"}));
  }
}

// Version 1.3 added the level of 4 bits. Without it the file is searched as before, and nothing is derived.
TEST(ModelFile, OpensFilesWithoutCodesOf4Bits) {
  const std::string corpus = GLOVE_FUZZ_CORPUS "/glove-model/";
  OpenOptions options;
  options.verify = true;
  const auto before = open_model(corpus + "full_1.2", options);
  const auto now = open_model(corpus + "full", options);
  const auto minimal = open_model(corpus + "minimal");
  ASSERT_TRUE(before.ok() && now.ok() && minimal.ok());
  const ModelPart& part = before.value()->parts().front();
  EXPECT_FALSE(part.has_level(4));
  EXPECT_TRUE(part.has_level(8));
  EXPECT_TRUE(now.value()->parts().front().has_level(4));
  testing::expect_same_parts(*now.value(), *minimal.value());
}

// If a header promises the number of rows, the codes are written to their final place before the last row is
// read. If rows are omitted, the codes are moved within the file.
TEST(ModelFile, IsTheSameWhetherTheRowsWerePromisedOrNot) {
  GLOVE_TRACE_SEED();
  const TemporaryDirectory directory;
  for (const auto& [rows, dims] : {std::pair{1, 1}, {33, 5}, {20000 / int{test::kShare}, 65}}) {
    const std::string content = random_text(rows, dims);
    const std::string unknown = directory.write("unknown.txt", content);
    const std::string promised =
        directory.write("promised.vec", std::to_string(rows) + " " + std::to_string(dims) + "\n" + content);
    for (const int64_t top : {0, 1, 40, 19999}) {
      ConvertOptions options;
      options.top = top;
      const std::string a = directory.path("a.safetensors");
      const std::string b = directory.path("b.safetensors");
      ASSERT_TRUE(convert(unknown, a, options).ok());
      const auto report = convert(promised, b, options);
      ASSERT_TRUE(report.ok()) << report.error().message;
      EXPECT_EQ(report.value().format, "word2vec-text");
      EXPECT_TRUE(TemporaryDirectory::read(a) == TemporaryDirectory::read(b)) << rows << " " << top;
    }
  }
}

}  // namespace
}  // namespace glove
