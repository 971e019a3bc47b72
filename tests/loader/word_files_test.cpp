// Files of words beside a model: counts, and lists of words.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "tests/loader/bad_input.h"

namespace glove {
namespace {

class WordFiles : public testing::BadInput {
 protected:
  void SetUp() override { text_ = directory_.write("in.txt", "a 1 2\nb c 3 4\nd 5 6\n"); }

  Result<ModelPtr> with_counts_of(const std::string& content) const {
    OpenOptions options;
    options.counts_path = directory_.write("counts", content);
    return open_model(text_, options);
  }

  std::string text_;
};

TEST_F(WordFiles, CountsOfWords) {
  // The first count of a word, which may have spaces; blank lines and other words do not matter.
  const auto model = with_counts_of("d 7\t\nother 9\n\nb c\t2.5 \nd 8\na 1e3\r\n");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(*model.value()->source().counts, (std::vector<double>{1000, 2.5, 7}));
  EXPECT_EQ(*with_counts_of(testing::gzipped(directory_, "a 1\n")).value()->source().counts,
            (std::vector<double>{1, 0, 0}));
  const std::string path = directory_.path("counts");
  for (const std::string line : {"a", "a x", " 5", "a 1x", "a -1", "a nan", "a inf", "a 1e999"})
    EXPECT_EQ(with_counts_of("d 1\n" + line + "\n").status().error().message,
              path + ": line 2: '" + line + "' must be a word, a space and a number of at least 0");
  for (const std::string none : {"other 5\n", "a 0\n", "\n"})
    EXPECT_EQ(with_counts_of(none).status().error().message,
              path + ": the counts of the model's words must have a finite sum above 0, but it is 0.000000");
  EXPECT_EQ(with_counts_of("a 1.7e308\nd 1.7e308\n").status().error().message,
            path + ": the counts of the model's words must have a finite sum above 0, but it is inf");
}

TEST_F(WordFiles, ListsOfWords) {
  ConvertOptions options;
  const std::string out = directory_.path("out");
  const auto words = [&](const std::string& list) {
    options.subset_path = directory_.write("list", list);
    const auto converted = convert(text_, out, options);
    if (!converted.ok()) return converted.error().message;
    std::string all;
    const ModelPtr model = open_model(out).value();
    for (int64_t row = 0; row < model->words(); ++row)
      all += std::string(model->vocabulary().word(row)) + "|";
    return all + std::to_string(converted.value().subset_missing);
  };
  EXPECT_EQ(words("d\nb c\n"), "b c|d|0");
  EXPECT_EQ(words("\xEF\xBB\xBF"
                  "a\r\nnone\r\n\r\nd"),
            "a|d|1")
      << "a byte order mark, and no newline at the end";
  EXPECT_EQ(words("none\n"), text_ + ": there is no row with a word of '" + directory_.path("list") + "'");
  EXPECT_EQ(words(""), directory_.path("list") + ": the file is empty");
  options.top = 1;
  EXPECT_EQ(words("b c\nd\n"), "b c|0") << "how many are missing is not counted";
}

// What the file lacks is found beside it, and a folder for temporary files is needed to unpack it.
TEST_F(WordFiles, ListsBesideMatrices) {
  const std::string values = testing::floats({5, 3, 4, 13, 5, 12});
  const std::string path = directory_.write("in.values.gz", testing::gzipped(directory_, values));
  directory_.write("in.words", "x\ny\n");
  OpenOptions options;
  options.read.words_path = directory_.path("in.words");
  const auto model = open_model(path, options);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value()->source().format, "norm-binary");
  EXPECT_EQ(model.value()->vocabulary().word(1), "y");
  setenv("TMPDIR", "/nonexistent", 1);
  const auto nowhere = open_model(path, options);
  unsetenv("TMPDIR");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().message, "cannot create '/nonexistent': No such file or directory");
}

}  // namespace
}  // namespace glove
