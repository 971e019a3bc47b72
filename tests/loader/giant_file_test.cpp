// Model files of the most rows. They are sparse: what nothing has written reads as zeros and takes no space
// on the disk.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/float_environment.h"
#include "loader/open.h"
#include "model/exact_dot.h"
#include "model/limits.h"
#include "tests/loader/model_layout.h"
#include "tests/loader/random.h"
#include "tests/loader/temporary_directory.h"

namespace glove {
namespace {

using testing::random_source;
using testing::TemporaryDirectory;

constexpr int64_t kGiantDims = 8;
constexpr int64_t kBytesOfWords = int64_t{5} << 30;

// Writes the header and a few rows of a file whose other words are empty.
class SparseFile {
 public:
  SparseFile(std::string path, int64_t rows)
      : path_(std::move(path)), rows_(rows), layout_(rows, kGiantDims, kBytesOfWords) {
    std::ofstream(path_, std::ios::binary) << layout_.header();
    std::filesystem::resize_file(path_, static_cast<uintmax_t>(layout_.file_bytes()), error_);
    file_.open(path_, std::ios::in | std::ios::out | std::ios::binary);
  }

  bool is_there() const { return !error_; }

  void put(int64_t row, int64_t word_place, const std::string& word, const std::vector<float>& x) {
    const ScopedFloatEnvironment environment;
    write(kVectors, row * kGiantDims, x);
    write(kNormsSquared, row, std::vector{exact_dot(x.data(), x.data(), kGiantDims)});
    write(kWordBytes, word_place, std::vector<char>(word.begin(), word.end()));
    write(kWordOffsets, row,
          std::vector<int64_t>{word_place, word_place + static_cast<int64_t>(word.size())});
  }

  // Makes these the last of the sorted ids. The others are 0, so the first row must come first.
  void put_order(const std::vector<int32_t>& ids) {
    write(kSortedIds, rows_ - static_cast<int64_t>(ids.size()), ids);
    file_.close();
  }

 private:
  template <class T>
  void write(std::string_view tensor, int64_t index, const std::vector<T>& values) {
    file_.seekp(layout_.tensor(tensor).offset + index * static_cast<int64_t>(sizeof(T)));
    file_.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(T)));
  }

  std::string path_;
  int64_t rows_;
  ModelLayout layout_;
  std::error_code error_;
  std::fstream file_;
};

void expect_rows_read(int64_t rows) {
  GLOVE_TRACE_SEED();
  const TemporaryDirectory directory;
  const std::string path = directory.path("giant.safetensors");
  SparseFile file(path, rows);
  if (!file.is_there()) GTEST_SKIP() << "the file system has no sparse files of this size";
  auto random = random_source();
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> vectors;
  // The places of rows where the number of rows, components or bytes passes a power of two; not neighbours,
  // because a word ends where the next one begins.
  std::vector<int32_t> ids = {0, 1 << 24, (1 << 27) - 2, 1 << 27, (1 << 28) - 2, 1 << 28, 1 << 29, 1 << 30};
  ids.push_back(static_cast<int32_t>(rows - 1));
  std::erase_if(ids, [rows](int32_t id) { return id >= rows; });
  for (size_t i = 0; i < ids.size(); ++i) {
    std::vector<float>& x = vectors.emplace_back(kGiantDims);
    for (float& value : x) value = normal(random);
    const int64_t place = (kBytesOfWords - 100) / static_cast<int64_t>(ids.size()) * static_cast<int64_t>(i);
    file.put(ids[i], place, "word" + std::to_string(i), x);
  }
  file.put_order(ids);

  const auto opened = open_model(path);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const Model& model = *opened.value();
  EXPECT_EQ(model.words(), rows);
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string word = "word" + std::to_string(i);
    EXPECT_EQ(model.vocabulary().word(ids[i]), word);
    EXPECT_EQ(model.vocabulary().find(word), ids[i]);
    EXPECT_TRUE(std::equal(vectors[i].begin(), vectors[i].end(), model.vector(ids[i]))) << ids[i];
    EXPECT_GT(model.norm_squared(ids[i]), 0);
  }
  EXPECT_EQ(model.norm_squared(rows / 3), 0);
  EXPECT_EQ(model.vocabulary().find("word9x"), std::nullopt);
  EXPECT_TRUE(model.health().ok());
}

TEST(GiantFile, OpensOf2To30Rows) {
  expect_rows_read(int64_t{1} << 30);
}
TEST(GiantFile, OpensOfTheMostRows) {
  expect_rows_read(kMaxRows);
}
TEST(GiantFile, IsRefusedWithOneRowMore) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("giant.safetensors");
  if (!SparseFile(path, kMaxRows + 1).is_there())
    GTEST_SKIP() << "the file system has no sparse files of this size";
  const auto opened = open_model(path);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message,
            path +
                ": the tensor 'vectors' is 2147483584 x 8; a model has 1 to 2147483583 words of 1 to 65536 "
                "dimensions");
}

}  // namespace
}  // namespace glove
