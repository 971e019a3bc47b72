// A model file that is written row by row, and what can go wrong meanwhile.
#include "loader/model_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/float_environment.h"
#include "loader/open.h"
#include "tests/loader/temporary_directory.h"

namespace glove {
namespace {

constexpr int64_t kWrittenDims = 64;

// A writer with so many rows, of which it expects some; -1: it does not know how many come.
std::unique_ptr<ModelWriter> writer_of(const std::string& path, int64_t expected, int64_t rows) {
  auto writer = ModelWriter::create(path, expected, kWrittenDims).value();
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<float> vector(kWrittenDims, static_cast<float>(row + 1));
    EXPECT_TRUE(writer->assembler().append_row("w" + std::to_string(row), vector).ok());
    EXPECT_TRUE(writer->assembler().derive(path, vector, 1, {}).ok());
  }
  return writer;
}

TEST(ModelWriter, WritesAsManyRowsAsItExpects) {
  const ScopedFloatEnvironment environment;
  const testing::TemporaryDirectory directory;
  const std::string path = directory.write("m.safetensors", "as it was");
  EXPECT_EQ(writer_of(path, -1, 0)->commit(1).error().message, "there is no row to write to '" + path + "'");
  EXPECT_EQ(writer_of(path, 2, 40)->commit(1).error().message,
            "there are more rows for '" + path + "' than the input promises");
  EXPECT_EQ(testing::TemporaryDirectory::read(path), "as it was");
  EXPECT_EQ(directory.entries().size(), 1u);
  OpenOptions options;
  options.verify = true;
  for (const int64_t expected : {-1, 40, 1000}) {
    const Status written = writer_of(path, expected, 40)->commit(1);
    ASSERT_TRUE(written.ok()) << written.error().message;
    EXPECT_EQ(open_model(path, options).value()->words(), 40);
  }
}

TEST(ModelWriter, NoticesThatItsFileWasCut) {
  const ScopedFloatEnvironment environment;
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path("m.safetensors");
  const auto writer = writer_of(path, 40, 40);
  Buffer<float> vectors;
  ASSERT_TRUE(writer->read_vectors(3, 2, vectors).ok());
  EXPECT_EQ(vectors[0], 4);
  EXPECT_EQ(vectors[2 * kWrittenDims - 1], 5);
  for (const int descriptor : directory.open_unnamed_files()) ASSERT_EQ(ftruncate(descriptor, 5000), 0);
  EXPECT_EQ(writer->read_vectors(3, 2, vectors).error().message,
            "the new file for '" + path + "' was truncated by another program");
}

}  // namespace
}  // namespace glove
