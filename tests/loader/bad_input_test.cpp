// Each kind of broken input leads to one error that names the file and the place, and leaves no file behind.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "loader/open.h"
#include "tests/loader/bad_input.h"

namespace glove {
namespace {

using testing::BadInput;
using testing::floats;
using testing::gzipped;
using testing::npy;
using testing::TemporaryDirectory;

TEST_F(BadInput, PathsThatAreNoFiles) {
  EXPECT_EQ(open_model("/nonexistent/glove.txt").error().message,
            "cannot open '/nonexistent/glove.txt': No such file or directory");
  EXPECT_EQ(open_model("/tmp").error().message,
            "cannot read '/tmp': it is a directory, not an embedding file, and has no model.safetensors "
            "or 0_StaticEmbedding/model.safetensors of a static embedding model");
  EXPECT_EQ(open_model("/dev/null").error().message, "cannot read '/dev/null': it is not a regular file");
  const std::string path = directory_.write("plain", "a 1 2\n");
  EXPECT_EQ(open_model(path + "/member").error().message,
            "cannot open '" + path + "/member': '" + path + "' is neither a directory nor a zip archive");
  const auto converted = convert(path, "/nonexistent/out", {});
  EXPECT_EQ(converted.error().message.substr(0, 28), "cannot create '/nonexistent/");
}

TEST_F(BadInput, RowsOfNormsAsLongAsTheyMayBe) {
  std::vector<float> values(65537, 1.0f);
  values[0] = 256.0f;
  const std::string row(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  directory_.write("m.words", "a\nb\n");
  const auto model = open_model(directory_.write("m.values", row + row));
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value()->source().format, "norm-binary");
  EXPECT_EQ(model.value()->dims(), 65536);
}

TEST_F(BadInput, NumpyAndNorms) {
  const std::string shape22 = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
  expect_error(npy(shape22, floats({1, 2, 3, 4})),
               "the file contains vectors without words; name a file with one word per line (--vocabulary of "
               "glove-convert, \"vocabulary\" of glove_load), "
               "or put one beside it as '" +
                   directory_.path("m.words") + "'",
               "m.npy");
  directory_.write("m.words", "a\nb\n");
  expect_error(npy(shape22, floats({1, 2, 3})), "row 2: the file ends early, before 2 rows of 8 bytes",
               "m.npy");
  expect_error(npy(shape22, floats({1, 2, 3, 4, 5})), "there are bytes after the last of 2 rows", "m.npy");
  expect_row_error(npy(shape22, floats({1, 2, INFINITY, 4})), "row 2: component 1 is infinite", "m.npy");
  expect_error(
      npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }", ""),
      "offset 0: the .npy header says the elements are '<i4'; '<f2', '<f4', '<f8' and '|i1' can be read "
      "(float16, float32 and float64 in little-endian, int8)",
      "m.npy");
  expect_error(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", ""),
               "offset 0: the .npy header says the shape is (4,); a matrix (words, dimensions) was expected",
               "m.npy");
  expect_error(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9, 0), }", ""),
               "there are 9 rows of 0 components; a model has 1 to 2147483583 rows of 1 to 65536", "m.npy");
  expect_error(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", floats({1})),
               "offset 73: the header describes 85 bytes, but there are 73", "m.npy");
  directory_.write("m.words", "a\n");
  expect_error(npy(shape22, floats({1, 2, 3, 4})),
               "the matrix has 2 rows, but '" + directory_.path("m.words") + "' has 1 word", "m.npy");
  directory_.write("m.words", "a\nb\nc\n");
  expect_error(npy(shape22, floats({1, 2, 3, 4})),
               "the matrix has 2 rows, but '" + directory_.path("m.words") + "' has more words", "m.npy");
  directory_.write("m.words", "a\n\n");
  expect_error(npy(shape22, floats({1, 2, 3, 4})),
               "the matrix has 2 rows, but '" + directory_.path("m.words") + "' has 1 word", "m.npy");
  directory_.write("m.words", "\nb\n");
  expect_row_error(npy(shape22, floats({1, 2, 3, 4})), "row 1: the word is empty", "m.npy");
}

TEST_F(BadInput, Compressed) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + " 1 2 3." + std::to_string(i * 7919) + "\n";
  std::string bytes = gzipped(directory_, text);
  const std::string half = bytes.substr(0, bytes.size() / 2);
  expect_error(half, "offset " + std::to_string(half.size()) + ": the compressed data ends early");
  expect_error(bytes + "tail",
               "offset " + std::to_string(bytes.size()) + ": the compressed data is followed by other data");
  bytes[bytes.size() - 6] ^= 1;
  expect_error(bytes, "offset " + std::to_string(bytes.size() - 4) +
                          ": the compressed data is damaged (incorrect data check)");
  expect_error(gzipped(directory_, ""), "there is nothing inside the compressed file");
  expect_error("PK\3\4 and no directory",
               "offset 21: zip archive: its directory is missing; the file ends early");
}

TEST_F(BadInput, ModelFiles) {
  const std::string text = directory_.write("good.txt", "the 1 2 3\nof 3 4 5\nand 5 6 7\n");
  const std::string model = directory_.path("good.safetensors");
  ASSERT_TRUE(convert(text, model, {}).ok());
  const std::string good = TemporaryDirectory::read(model);
  const std::string described = std::to_string(good.size() - 4096);
  expect_error(good.substr(0, good.size() - 1), "the file ends early: its header describes " + described +
                                                    " bytes of tensors, but " +
                                                    std::to_string(good.size() - 4097) + " follow it");
  expect_error(good.substr(0, 4000), "the file ends early: its header of 4088 bytes is cut off");
  expect_error(good + "x", "offset " + std::to_string(good.size()) + ": bytes after the last tensor");
  std::string flipped = good;
  flipped[4000] = '\t';  // a tab in place of a space before the data, so the JSON stays the same
  const auto opened = open_model(directory_.write("flipped", flipped));
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("; the file is damaged"), std::string::npos)
      << opened.error().message;
  std::string newer = good;
  newer.replace(newer.find("\"1.3\""), 5, "\"4.5\"");
  expect_error(
      newer,
      "the file has format version 4.5, but this build reads the versions 1 to 3; convert the original "
      "again, or use a newer build");
}

TEST_F(BadInput, VerifyFindsAFlippedByteOfTheDataAndSaysWhere) {
  const std::string text = directory_.write("good.txt", "the 1 2 3\nof 3 4 5\nand 5 6 7\n");
  const std::string model = directory_.path("good.safetensors");
  ASSERT_TRUE(convert(text, model, {}).ok());
  const std::string good = TemporaryDirectory::read(model);
  OpenOptions verify;
  verify.verify = true;
  EXPECT_TRUE(open_model(model, verify).ok());
  std::string bytes = good;
  bytes[4096 + 4] ^= 1;
  const std::string bad = directory_.write("bad.safetensors", bytes);
  EXPECT_TRUE(open_model(bad).ok());
  EXPECT_EQ(open_model(bad, verify).error().message.substr(0, bad.size() + 48),
            bad + ": the tensor 'vectors' is damaged: its checksum ");
}

// A damaged model file is reported as damaged and not as unverifiable, whichever byte is damaged.
TEST_F(BadInput, VerifyTellsOtherFilesFromDamagedModelFiles) {
  OpenOptions verify;
  verify.verify = true;
  const auto message = [&](const std::string& content) {
    const std::string path = directory_.write("checked", content);
    const auto opened = open_model(path, verify);
    return opened.ok() ? "none" : opened.error().message.substr(path.size() + 2);
  };
  const auto other = [](const std::string& format) {
    return "only a model file can be verified, and this is " + format +
           "; make a model file of it with glove-convert first";
  };
  EXPECT_EQ(message("the 1 2 3\nof 3 4 5\n"), other("glove-text"));
  EXPECT_EQ(message("2 3\nthe 1 2 3\nof 3 4 5\n"), other("word2vec-text"));
  EXPECT_EQ(message("1 2\nthe " + floats({1, 2})), other("word2vec-binary"));
  EXPECT_EQ(message(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }", floats({1}))),
            other("numpy"));
  EXPECT_EQ(message(gzipped(directory_, "the 1 2 3\nof 3 4 5\n")), other("glove-text"));
  for (const std::string content : {"Dear reader,\n", "a", R"({"vec": {"the": "no number"}})"})
    EXPECT_EQ(message(content),
              "only a model file can be verified, and this is of no known format; name a file that "
              "glove-convert has written");
  EXPECT_EQ(message(std::string("\2\0\0\0\0\0\0\0{}", 10)),
            "this safetensors file is not a model file: it lacks vectors or words");

  const std::string text = directory_.write("good.txt", "the 1 2 3\nof 3 4 5\nand 5 6 7\n");
  const std::string model = directory_.path("good.safetensors");
  ASSERT_TRUE(convert(text, model, {}).ok());
  const std::string good = TemporaryDirectory::read(model);
  ASSERT_TRUE(open_model(model, verify).ok());
  for (size_t i = 0; i < good.size(); i += i < 16 ? 1 : 97) {
    std::string bytes = good;
    bytes[i] ^= 0x5A;
    const std::string said = message(bytes);
    EXPECT_EQ(said.find("only a model file"), std::string::npos) << "byte " << i;
    if (i < 4096) {
      EXPECT_NE(said, "none") << "byte " << i;
    }
  }
  for (const size_t count : {size_t{3}, size_t{7}, size_t{8}, size_t{9}, size_t{100}, good.size() - 1})
    EXPECT_NE(message(good.substr(0, count)).find("ends early"), std::string::npos) << count << " bytes";
  EXPECT_EQ(message(std::string(4096, '\0') + good.substr(4096)),
            "the safetensors header is not a JSON object");
}

TEST_F(BadInput, OptionsThatTheFormatHasNoUseFor) {
  const std::string text = directory_.write("in.txt", "a 1 2 3\nb 3 4 5\n");
  const std::string model = directory_.path("m.safetensors");
  ASSERT_TRUE(convert(text, model, {}).ok());
  const auto expect = [&](const std::string& path, const OpenOptions& options, const std::string& message) {
    const auto opened = open_model(path, options);
    ASSERT_FALSE(opened.ok()) << message;
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(opened.error().message, path + ": " + message);
    if (options.verify) return;
    ConvertOptions same;
    same.read = options.read;
    EXPECT_EQ(convert(path, directory_.path("out"), same).error().message, path + ": " + message);
  };
  OpenOptions tensor;
  tensor.read.tensor = "vectors";
  OpenOptions words;
  words.read.words_path = text;
  const std::string no_tensor =
      ", which takes no tensor (--tensor of glove-convert, \"tensor\" of glove_load); omit it (it is for "
      "safetensors)";
  const std::string no_words =
      ", which takes no word list (--vocabulary of glove-convert, \"vocabulary\" of glove_load); omit it "
      "(it is for safetensors, numpy, text-matrix, norm-binary)";
  expect(model, tensor, "it is read as glove-model" + no_tensor);
  expect(model, words, "it is read as glove-model" + no_words);
  expect(text, tensor, "it is read as glove-text" + no_tensor);
  expect(text, words, "it is read as glove-text" + no_words);
  words.read.format = "glove-model";
  expect(model, words, "it is read as glove-model" + no_words);
  OpenOptions verify;
  verify.verify = true;
  expect(text, verify,
         "only a model file can be verified, and this is glove-text; make a model file of it with "
         "glove-convert first");
  const std::string packed = directory_.write("m.gz", gzipped(directory_, TemporaryDirectory::read(model)));
  expect(packed, verify, "a compressed model file cannot be verified; decompress it first");
  // Both options apply if the matrix of a model file is read like any other.
  tensor.read.format = "safetensors";
  tensor.read.words_path = directory_.write("words", "x\ny\n");
  const auto matrix = open_model(model, tensor);
  ASSERT_TRUE(matrix.ok()) << matrix.error().message;
  EXPECT_EQ(matrix.value()->vocabulary().word(0), "x");
}

TEST_F(BadInput, AReaderStopsWhenItIsInterrupted) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + " 1 2 3\n";
  const std::string path = directory_.write("in", text);
  OpenOptions options;
  options.interrupted = [] { return true; };
  EXPECT_EQ(open_model(path, options).error().code, ErrorCode::kInterrupted);
  const std::string model = directory_.path("model");
  ASSERT_TRUE(convert(path, model, {}).ok());
  options.verify = true;
  EXPECT_EQ(open_model(model, options).error().code, ErrorCode::kInterrupted);
}

TEST_F(BadInput, VerifyingStopsInEachOfItsPasses) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "w" + std::to_string(i) + " 1 2 3\n";
  const std::string model = directory_.path("model");
  ASSERT_TRUE(convert(directory_.write("in", text), model, {}).ok());
  int64_t stop_at = 0;  // the call of the callback that stops the work
  while (true) {
    ASSERT_LT(stop_at, 1000);
    int64_t calls = 0;
    OpenOptions options;
    options.verify = true;
    options.interrupted = [&] { return calls++ == stop_at; };
    const auto opened = open_model(model, options);
    if (opened.ok()) break;
    EXPECT_EQ(opened.error().code, ErrorCode::kInterrupted);
    ++stop_at;
  }
  // The header, a piece of each tensor, and 1000 rows in passes over words, order, rows and padding.
  EXPECT_GE(stop_at, 1 + 8 + 4 * (1000 / 256));
}

// With a promised number of rows and without; without it the codes are moved at the end.
TEST_F(BadInput, AConversionStopsBetweenAnyTwoStepsAndLeavesNothing) {
  for (const std::string header : {"", "100 3\n"}) {
    std::string text = header;
    for (int i = 0; i < 100; ++i) text += "w" + std::to_string(i) + " 1 2 3\n";
    const std::string path = directory_.write("in", text);
    const std::string output = directory_.write("out", "as it was");
    const auto before = directory_.entries();
    int64_t stop_at = 0;  // the call of the check that returns true
    while (true) {
      ASSERT_LT(stop_at, 1000);
      int64_t calls = 0;
      ConvertOptions options;
      options.interrupted = [&] {
        // Never called after the renaming, when stopping could not undo anything.
        EXPECT_EQ(TemporaryDirectory::read(output), "as it was");
        return calls++ == stop_at;
      };
      const auto converted = convert(path, output, options);
      if (converted.ok()) break;
      EXPECT_EQ(converted.error().code, ErrorCode::kInterrupted);
      EXPECT_EQ(TemporaryDirectory::read(output), "as it was");
      EXPECT_EQ(directory_.entries(), before);
      ++stop_at;
    }
    EXPECT_GE(stop_at, 9);  // a block of rows, six arrays at least, before and after the flush
    EXPECT_TRUE(open_model(output).ok());
  }
}

}  // namespace
}  // namespace glove
