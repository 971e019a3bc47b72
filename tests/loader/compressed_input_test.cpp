// Compressed input of the formats that need random access is unpacked once, with progress and interrupts, and
// no further than the input's own header says.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "loader/open.h"
#include "tests/loader/random.h"
#include "tests/loader/temporary_directory.h"
#include "tests/share.h"

namespace glove {
namespace {

using testing::TemporaryDirectory;

constexpr int kRows = 4000;
constexpr int kDims = 200;

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// gzip, or a zip archive of one deflated member.
std::string packed(const std::string& content, bool zip) {
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, zip ? -MAX_WBITS : 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string bytes(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  if (!zip) return bytes;
  const auto crc =
      crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  const std::string shared = little_endian(20, 2) + little_endian(0, 2) + little_endian(8, 2) +
                             little_endian(0, 4) + little_endian(crc, 4) + little_endian(bytes.size(), 4) +
                             little_endian(content.size(), 4) + little_endian(1, 2) + little_endian(0, 2);
  const std::string local = "PK\3\4" + shared + "m" + bytes;
  const std::string entry = "PK\1\2" + little_endian(20, 2) + shared + std::string(14, '\0') + "m";
  return local + entry + "PK\5\6" + little_endian(0, 4) + little_endian(1, 2) + little_endian(1, 2) +
         little_endian(entry.size(), 4) + little_endian(local.size(), 4) + little_endian(0, 2);
}

int64_t bytes_written_by_this_process() {
  std::ifstream file("/proc/self/io");
  std::string key;
  int64_t value = 0;
  while (file >> key >> value)
    if (key == "wchar:") return value;
  return 0;
}

struct Sample {
  std::string format;
  std::string content;
};

class CompressedInput : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TMPDIR", directory_.path("").c_str(), 1);
    std::string words;
    for (int i = 0; i < kRows; ++i) words += "w" + std::to_string(i) + "\n";
    directory_.write("in.words", words);
  }
  void TearDown() override { unsetenv("TMPDIR"); }

  // Incompressible, so that the sizes show what is read and written.
  std::vector<float> random_values(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    std::normal_distribution<float> normal;
    for (float& value : values) value = normal(generator_);
    return values;
  }

  std::vector<Sample> samples() {
    const std::vector<float> values = random_values(int64_t{kRows} * kDims);
    const std::string data = bytes_of(values);
    const std::string shape = "[" + std::to_string(kRows) + "," + std::to_string(kDims) + "]";
    std::string json = R"({"m":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,)" +
                       std::to_string(data.size()) + "]}}";
    const std::string dictionary = "{'descr': '<f4', 'fortran_order': True, 'shape': (" +
                                   std::to_string(kRows) + ", " + std::to_string(kDims) + "), }\n";
    std::vector<float> with_norms;
    for (int row = 0; row < kRows; ++row) {
      const auto* const begin = values.data() + row * kDims;
      double sum = 0;
      for (int j = 0; j < kDims; ++j) sum += static_cast<double>(begin[j]) * static_cast<double>(begin[j]);
      with_norms.push_back(static_cast<float>(std::sqrt(sum)));
      with_norms.insert(with_norms.end(), begin, begin + kDims);
    }
    std::string text;
    for (int row = 0; row < kRows; ++row) {
      text += "w" + std::to_string(row);
      for (int j = 0; j < kDims; ++j)
        text += " " + std::to_string(values[static_cast<size_t>(row * kDims + j)]);
      text += "\n";
    }
    EXPECT_TRUE(convert(directory_.write("text", text), directory_.path("model"), {}).ok());
    std::vector<Sample> all = {
        {"safetensors", little_endian(json.size(), 8) + json + data},
        {"numpy", std::string("\x93NUMPY\1\0", 8) + little_endian(dictionary.size(), 2) + dictionary + data},
        {"norm-binary", bytes_of(with_norms)},
        {"glove-model", TemporaryDirectory::read(directory_.path("model"))}};
    std::filesystem::remove(directory_.path("text"));
    std::filesystem::remove(directory_.path("model"));
    if (test::kShortStep != 1) return {all[generator_() % all.size()]};
    return all;
  }

  // The most bytes of the temporary copy so far.
  int64_t copied() const {
    int64_t most = 0;
    for (const int descriptor : directory_.open_unnamed_files()) {
      struct stat info {};
      if (::fstat(descriptor, &info) == 0) most = std::max<int64_t>(most, info.st_size);
    }
    return most;
  }

  TemporaryDirectory directory_;
  std::mt19937_64 generator_ = testing::random_source();
};

TEST_F(CompressedInput, IsUnpackedOnce) {
  GLOVE_TRACE_SEED();
  for (const Sample& sample : samples())
    for (const bool zip : {false, true}) {
      SCOPED_TRACE(sample.format + (zip ? " zip" : " gzip"));
      const std::string path = directory_.write(zip ? "in.zip" : "in.gz", packed(sample.content, zip));
      const int64_t before = bytes_written_by_this_process();
      const auto model = open_model(path);
      ASSERT_TRUE(model.ok()) << model.error().message;
      EXPECT_EQ(model.value()->source().format, sample.format);
      EXPECT_EQ(model.value()->words(), kRows);
      const auto size = static_cast<int64_t>(sample.content.size());
      EXPECT_LT(bytes_written_by_this_process() - before, size + size / 2);
    }
}

TEST_F(CompressedInput, CanBeStoppedWhereverItIsUnpacked) {
  GLOVE_TRACE_SEED();
  for (const Sample& sample : samples())
    for (const bool zip : {false, true}) {
      SCOPED_TRACE(sample.format + (zip ? " zip" : " gzip"));
      const auto size = static_cast<int64_t>(sample.content.size());
      const std::string path = directory_.write(zip ? "in.zip" : "in.gz", packed(sample.content, zip));
      for (const int64_t stop_at : {int64_t{0}, size / 10, size / 2, size * 9 / 10}) {
        int64_t seen = -1;
        OpenOptions options;
        options.interrupted = [&] {
          seen = copied();
          return seen >= stop_at;
        };
        const auto model = open_model(path, options);
        ASSERT_FALSE(model.ok());
        EXPECT_EQ(model.error().code, ErrorCode::kInterrupted);
        EXPECT_EQ(model.error().message, "interrupted");
        EXPECT_GE(seen, stop_at);
        EXPECT_LE(seen, stop_at + (int64_t{1} << 20)) << "asked at least once a MiB";
      }
    }
}

// Progress runs from 0 to the end twice: while the input is unpacked, and while the copy is read.
TEST_F(CompressedInput, ProgressStaysWithinItsTotal) {
  GLOVE_TRACE_SEED();
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.format);
    const std::string path = directory_.write("in.gz", packed(sample.content, false));
    OpenOptions options;
    options.progress = [&](int64_t done, int64_t total) {
      EXPECT_GE(done, 0);
      EXPECT_LE(done, total);
    };
    EXPECT_TRUE(open_model(path, options).ok());
  }
}

TEST_F(CompressedInput, IsUnpackedNoFurtherThanItsHeaderGoes) {
  GLOVE_TRACE_SEED();
  for (const Sample& sample : samples())
    for (const bool zip : {false, true}) {
      SCOPED_TRACE(sample.format + (zip ? " zip" : " gzip"));
      const std::string bomb = sample.content + std::string(size_t{16} << 20, '\0');
      const std::string path = directory_.write(zip ? "in.zip" : "in.gz", packed(bomb, zip));
      const bool by_words = sample.format == "norm-binary";
      if (by_words) directory_.write("in.words", "a\nb\nc\n");
      int64_t most = 0;
      OpenOptions options;
      options.read.format = sample.format;
      options.progress = [&](int64_t, int64_t) { most = std::max(most, copied()); };
      const auto model = open_model(path, options);
      ASSERT_FALSE(model.ok());
      EXPECT_EQ(model.error().code, ErrorCode::kCorrupt);
      // A zip archive declares the size in advance.
      const bool described = zip && (sample.format == "safetensors" || sample.format == "glove-model");
      const std::string expected = described ? ": bytes after the last tensor"
                                             : ": there are more bytes inside the compressed file than the ";
      EXPECT_NE(model.error().message.find(expected), std::string::npos) << model.error().message;
      EXPECT_LE(most, by_words ? 3 * 65537 * 4 : static_cast<int64_t>(sample.content.size()));
      if (by_words) SetUp();
    }
}

// Input that does not begin with a row of numbers and its norm is refused without unpacking it.
TEST_F(CompressedInput, ZerosAreNotUnpackedToFindTheirFormat) {
  const std::string path = directory_.write("in.gz", packed(std::string(size_t{64} << 20, '\0'), false));
  int64_t most = 0;
  OpenOptions options;
  options.progress = [&](int64_t, int64_t) { most = std::max(most, copied()); };
  EXPECT_EQ(open_model(path, options).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(most, 0);
}

// The word lists of a conversion can be as long as the input itself.
TEST_F(CompressedInput, ListsOfWordsCanBeStopped) {
  const std::string list = directory_.write("list.gz", packed(std::string(size_t{64} << 20, '\n'), false));
  const std::string text = directory_.write("in", "a 1 2\nb 3 4\n");
  const std::string values = directory_.write("in.values", bytes_of({5, 3, 4, 5, 4, 3}));
  ConvertOptions subset;
  subset.subset_path = list;
  ConvertOptions words;
  words.read.format = "norm-binary";
  words.read.words_path = list;
  for (auto [path, options] : {std::pair(text, subset), std::pair(values, words)}) {
    int calls = 0;
    options.interrupted = [&] {
      return ++calls >= 40;
    };  // while the list is read; the rest takes only a few calls
    const auto converted = convert(path, directory_.path("out"), options);
    ASSERT_FALSE(converted.ok());
    EXPECT_EQ(converted.error().message, "interrupted");
    EXPECT_EQ(calls, 40);
  }
}

}  // namespace
}  // namespace glove
