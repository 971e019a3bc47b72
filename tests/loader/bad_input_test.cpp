// Each kind of broken input: one error that names the file and the place, and nothing left behind.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "loader/open.h"
#include "tests/loader/temporary_directory.h"

namespace glove {
namespace {

using testing::TemporaryDirectory;

std::string gzipped(const TemporaryDirectory& directory, const std::string& content) {
  const std::string path = directory.path("scratch.gz");
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
  std::string bytes = TemporaryDirectory::read(path);
  std::filesystem::remove(path);
  return bytes;
}

std::string floats(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(float)};
}

std::string npy(const std::string& dictionary, const std::string& data) {
  std::string header = dictionary + "\n";
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + data;
}

class BadInput : public ::testing::Test {
 protected:
  // Both doors refuse the file with the same message, which begins with its path; the converter leaves
  // an output that was there as it was, and no temporary file.
  void expect_error(const std::string& content, const std::string& message, const std::string& name = "in") {
    SCOPED_TRACE(message);
    const std::string path = directory_.write(name, content);
    const std::string output = directory_.write("out.safetensors", "as it was");
    const auto before = directory_.entries();
    const auto opened = open_model(path);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().message, path + ": " + message);
    const auto converted = convert(path, output, {});
    ASSERT_FALSE(converted.ok());
    EXPECT_EQ(converted.error().message, path + ": " + message);
    EXPECT_EQ(TemporaryDirectory::read(output), "as it was");
    EXPECT_EQ(directory_.entries(), before);
  }

  TemporaryDirectory directory_;
};

TEST_F(BadInput, PathsThatAreNoFiles) {
  EXPECT_EQ(open_model("/nonexistent/glove.txt").error().message,
            "cannot open '/nonexistent/glove.txt': No such file or directory");
  EXPECT_EQ(open_model("/tmp").error().message,
            "cannot read '/tmp': it is a directory, not an embedding file");
  EXPECT_EQ(open_model("/dev/null").error().message, "cannot read '/dev/null': it is not a regular file");
  const std::string path = directory_.write("plain", "a 1 2\n");
  EXPECT_EQ(open_model(path + "/member").error().message,
            "cannot open '" + path + "/member': '" + path + "' is neither a directory nor a zip archive");
  const auto converted = convert(path, "/nonexistent/out", {});
  EXPECT_EQ(converted.error().message.substr(0, 28), "cannot create '/nonexistent/");
}

TEST_F(BadInput, Text) {
  expect_error("", "the file is empty");
  expect_error(
      "\n\n",
      "offset 0: the content is of no known format (glove-model, safetensors, numpy, word2vec-binary, "
      "word2vec-text, norm-text, glove-text, norm-binary)");
  expect_error("a 1 2 3\nb 1 2\nc 1 2 3\n",
               "line 2: a word and 3 numbers were expected, but it has 2 after its first field");
  expect_error("a 1 2 3\nb 1 nan 3\nc 1 2 3\n", "line 2: component 2 is NaN");
  expect_error("a 1 2 3\nb 1 2 -1e39\n", "line 2: component 3 is infinite");
  expect_error("a 1 2 3\n\nb 1 2 3\nc 1 two 3\nd 1 2 3\n",
               "line 4: a word and 3 numbers were expected, but 'two' is no number");
  expect_error("a 1 2 3\nb 1 2 3\n 1 2 3\n", "line 3: there is no word before the numbers");
  expect_error("a 1 2\n" + std::string(70000, 'w') + " 1 2\n",
               "line 2: the word has 70000 bytes; the most is 65536");
  expect_error("a 1 2\n" + std::string(size_t{25} << 20, 'w'),
               "line 2: the line is longer than 16777216 bytes; this is no text of words and numbers");
}

TEST_F(BadInput, Word2vec) {
  expect_error("2 3\na 1 2 3\n", "line 3: the file ends after 1 rows, but its header promises 2");
  expect_error("1 3\na 1 2 3\nb 1 2 3\n", "line 3: the header promises 1 rows, but there are more");
  expect_error("2 3\na 1 2 3\nb 1 2\n",
               "line 3: a word and 3 numbers were expected, but it has 2 after its first field");
  expect_error(
      "2 70000\na 1 2 3\n",
      "line 1: the header says 2 rows of 70000 dimensions; a model has 1 to 2147483583 rows of 1 to 65536");
  expect_error("2 2\na " + floats({1, 2}) + "b " + floats({3}),
               "row 2: offset 14: the file ends early; its header promises 2 rows");
  expect_error("1 2\na " + floats({1, 2}) + "b " + floats({3, 4}),
               "offset 14: there are bytes after the 1 rows that the header promises");
  expect_error("2 2\na " + floats({1, 2}) + "b " + floats({3, NAN}), "row 2: component 2 is NaN");
  expect_error("9 1\na " + floats({1}) + std::string(70000, '\1'),
               "row 2: offset 10: the word is longer than 65536 bytes; the rows before have another length "
               "than the header says, or the file is damaged");
}

TEST_F(BadInput, HeadersThatPromiseWhatIsNotThere) {
  const std::string rows = "a 1 2 3\nb 4 5 6\nc 7 8 9\n";
  expect_error("400000 3\n" + rows, "line 5: the file ends after 3 rows, but its header promises 400000");
  for (const std::string count :
       {"99999999999", "-3", "0", "2147483584", "99999999999999999999", "-99999999999999999999"}) {
    const std::string message = " rows of 3 dimensions; a model has 1 to 2147483583 rows of 1 to 65536";
    expect_error(count + " 3\n" + rows, "line 1: the header says " + count + message);
    expect_error("\xEF\xBB\xBF" + count + "\t3 \r\n" + rows, "line 1: the header says " + count + message);
    expect_error(count + " 3\na " + floats({1, 2, 3}), "line 1: the header says " + count + message);
  }
  // Before no rows, or rows of another length than it says.
  for (const std::string text : {"0 100\n", "0 100\r\n", "0 100\n\n\n", "0 100\na 1 2\nb 3 4\n"})
    expect_error(
        text,
        "line 1: the header says 0 rows of 100 dimensions; a model has 1 to 2147483583 rows of 1 to 65536");
  // Rows that are too long for the sample that the format is found by.
  std::string row = "a";
  for (int i = 0; i < 65536; ++i) row += " 1.5";
  expect_error(
      "-1 65536\n" + row,
      "line 1: the header says -1 rows of 65536 dimensions; a model has 1 to 2147483583 rows of 1 to 65536");
  // With one number a line, a possible header is taken for one, and the message says what else it may be.
  const std::string hint =
      "; if that is a word and its number, name the format glove-text (--format of glove-convert, \"format\" "
      "of "
      "glove_load)";
  expect_error("2003 1\nof 2\nand 3\n",
               "line 4: the file ends after 2 rows, but its header promises 2003" + hint);
  expect_error("1 1\nof 2\nand 3\n", "line 3: the header promises 1 rows, but there are more" + hint);
}

// A first line of a number and an integer is a header only before rows that it can be the header of.
TEST_F(BadInput, WordsThatAreNumbersAreNoHeaders) {
  for (const std::string line : {"2003 7", "2003 1.0", "2003 0.25", "-3 1", "0 1", "5 0", "5 -2",
                                 "2003 70000", "99999999999 1", "99999999999999999999 7"}) {
    const std::string path = directory_.write("in", line + "\nof 2\n2004 3\n");
    const auto opened = open_model(path);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_EQ(opened.value()->words(), 3);
    EXPECT_EQ(opened.value()->vocabulary().word(0), line.substr(0, line.find(' ')));
  }
  // Where nothing can tell, the format that is named does.
  const std::string path = directory_.write("in", "2003 1\nof 2\nand 3\n");
  OpenOptions options;
  options.read.format = "glove-text";
  EXPECT_EQ(open_model(path, options).value()->words(), 3);
  EXPECT_EQ(open_model(directory_.write("in", "2 1\nof 2\nand 3\n")).value()->words(), 2);
  // Rows of several numbers that begin with a number.
  EXPECT_EQ(open_model(directory_.write("in", "2003 7 5\nof 2 1\n")).value()->words(), 2);
}

TEST_F(BadInput, HeadersThatSayLessThanTheRowsHave) {
  std::string numbers;
  for (int i = 0; i < 50; ++i) numbers += " 0." + std::to_string(i);
  const std::string hint =
      "; if their words end in numbers, name the format word2vec-text (--format of glove-convert, \"format\" "
      "of "
      "glove_load)";
  const std::string rows = "a" + numbers + "\nb" + numbers + "\nc" + numbers + "\n";
  const std::string says = " dimensions, but the lines after it have 50 numbers" + hint;
  for (const std::string dims : {"1", "7", "49"})
    expect_error("3 " + dims + "\n" + rows, "line 1: the header says " + dims + says);
  EXPECT_TRUE(open_model(directory_.write("in", "3 50\n" + rows)).ok());
  // Words that end in numbers are told by the others, or by whoever names the format.
  const auto some = open_model(directory_.write("in", "3 2\nat 1 2 3\nat 4 5 6\nplain 7 8\n"));
  ASSERT_TRUE(some.ok()) << some.error().message;
  EXPECT_EQ(some.value()->vocabulary().word(0), "at 1");
  OpenOptions options;
  options.read.format = "word2vec-text";
  const auto all = open_model(directory_.write("in", "2 2\nat 1 2 3\nat 4 5 6\n"), options);
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_EQ(all.value()->vocabulary().word(1), "at 4");
}

// Lines that are longer than the sample by which formats are found.
TEST_F(BadInput, LinesAsLongAsTheyMayBe) {
  const auto line = [](const std::string& word, int numbers, const std::string& number) {
    std::string text = word;
    for (int i = 0; i < numbers; ++i) text += " " + number;
    return text + "\n";
  };
  const std::string small = "-0.000123456789";
  for (const int dims : {20000, 65536})
    for (const std::string end : {"", "\n"}) {
      const std::string text = line("a b", dims, small) + line("c", dims, "2") + line("d", dims, "3") + "e" +
                               line("", dims, "1.5").substr(0, 4 * static_cast<size_t>(dims)) + end;
      for (const std::string format : {"", "glove-text"})
        for (const bool compressed : {false, true}) {
          OpenOptions options;
          options.read.format = format;
          const auto model =
              open_model(directory_.write("in", compressed ? gzipped(directory_, text) : text), options);
          ASSERT_TRUE(model.ok()) << model.error().message;
          EXPECT_EQ(model.value()->source().format, "glove-text");
          EXPECT_EQ(model.value()->words(), 4);
          EXPECT_EQ(model.value()->dims(), dims);
          EXPECT_EQ(model.value()->vocabulary().word(0), "a b");
          EXPECT_EQ(model.value()->vector(3)[dims - 1], 1.5f);
        }
    }
  // One line, of almost 16 MiB.
  std::string text = "w";
  for (int i = 0; i < 60000; ++i) text += " 1." + std::string(270, '0');
  const auto model = open_model(directory_.write("in", text));
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value()->dims(), 60000);
  // With norms: one number more.
  const std::string row = " 256" + line("", 65536, "1");
  const auto with_norms = open_model(directory_.write("in", "a" + row + "b" + row + "c" + row));
  ASSERT_TRUE(with_norms.ok()) << with_norms.error().message;
  EXPECT_EQ(with_norms.value()->source().format, "norm-text");
  EXPECT_EQ(with_norms.value()->dims(), 65536);
  expect_error(line("a", 65537, "1") + line("b", 65537, "2"),
               "its lines have 65537 components; a model has at most 65536");
  expect_error(
      std::string(size_t{40} << 20, 'x'),
      "offset 0: the content is of no known format (glove-model, safetensors, numpy, word2vec-binary, "
      "word2vec-text, norm-text, glove-text, norm-binary)");
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

// What is reserved on the disk goes by the input's size, whatever its header promises.
TEST_F(BadInput, APromiseReservesNoMoreThanTheFileHasRoomFor) {
  const auto most_reserved = [&](const std::string& content) {
    int64_t most = 0;
    ConvertOptions options;
    options.progress = [&](int64_t, int64_t) {
      for (const int descriptor : directory_.open_unnamed_files()) {
        struct stat info {};
        if (::fstat(descriptor, &info) == 0) most = std::max(most, int64_t{info.st_blocks} * 512);
      }
    };
    (void)convert(directory_.write("in", content), directory_.path("out"), options);
    EXPECT_GT(most, 0);
    return most;
  };
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "w" + std::to_string(i) + " 1 2 3 4 5\n";
  std::string binary;
  for (int i = 0; i < 200000; ++i) binary += "w" + std::to_string(i) + " " + floats({1, 2, 3, 4, 5});
  // A component is two bytes of text at least, and four of vectors and one of codes; 24 bytes and the words
  // are kept of a row that has twelve of text at least.
  for (const std::string count : {"", "200001", "500000", "99999999"})
    for (const bool is_binary : {false, true}) {
      if (count.empty() && is_binary) continue;
      const std::string header = count.empty() ? "" : count + " 5\n";
      const std::string content = header + (is_binary ? binary : text);
      EXPECT_LT(most_reserved(content), 5 * static_cast<int64_t>(content.size()) + 65536)
          << count << (is_binary ? " binary" : " text");
    }
}

TEST_F(BadInput, NumpyAndNorms) {
  const std::string shape22 = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
  expect_error(npy(shape22, floats({1, 2, 3, 4})),
               "the file holds vectors without words; name a file with a word a line (--vocabulary of "
               "glove-convert, \"vocabulary\" of glove_load), "
               "or put one beside it as '" +
                   directory_.path("m.words") + "'",
               "m.npy");
  directory_.write("m.words", "a\nb\n");
  expect_error(npy(shape22, floats({1, 2, 3})), "row 2: the file ends early, before 2 rows of 8 bytes",
               "m.npy");
  expect_error(npy(shape22, floats({1, 2, 3, 4, 5})), "there are bytes after the last of 2 rows", "m.npy");
  expect_error(npy(shape22, floats({1, 2, INFINITY, 4})), "row 2: component 1 is infinite", "m.npy");
  expect_error(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }", ""),
               "offset 0: the .npy header says the elements are '<i4'; '<f2', '<f4' and '<f8' can be read "
               "(float16, float32, float64, little-endian)",
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
               "there are 2 rows, but '" + directory_.path("m.words") + "' has 1 words", "m.npy");
  directory_.write("m.words", "a\nb\nc\n");
  expect_error(npy(shape22, floats({1, 2, 3, 4})),
               "there are 2 rows, but '" + directory_.path("m.words") + "' has more words", "m.npy");
  directory_.write("m.words", "a\n\n");
  expect_error(npy(shape22, floats({1, 2, 3, 4})), "row 2: the word is empty", "m.npy");
}

TEST_F(BadInput, Compressed) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + " 1 2 3." + std::to_string(i * 7919) + "\n";
  std::string bytes = gzipped(directory_, text);
  const std::string half = bytes.substr(0, bytes.size() / 2);
  expect_error(half, "offset " + std::to_string(half.size()) + ": the compressed data ends early");
  expect_error(bytes + "tail", "offset " + std::to_string(bytes.size()) +
                                   ": the compressed data is followed by bytes that are no gzip data");
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
  flipped[4000] = '\t';  // a space before the data: still the same JSON
  const auto opened = open_model(directory_.write("flipped", flipped));
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("; the file is damaged"), std::string::npos)
      << opened.error().message;
  std::string newer = good;
  newer.replace(newer.find("\"1.0\""), 5, "\"2.5\"");
  expect_error(newer,
               "the file has format version 2.5, but this build reads version 1; convert the original "
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

// What cannot be verified is told from what is damaged, whichever byte of a model file the damage has met.
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
            "this safetensors file is no model file: it lacks vectors or words");

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
  EXPECT_EQ(message(std::string(4096, '\0') + good.substr(4096)), "the safetensors header is no JSON object");
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
      ", which takes no tensor (--tensor of glove-convert, \"tensor\" of glove_load); leave it out (it is "
      "for "
      "safetensors)";
  const std::string no_words =
      ", which takes no word list (--vocabulary of glove-convert, \"vocabulary\" of glove_load); leave it "
      "out (it "
      "is "
      "for safetensors, numpy, norm-binary)";
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
  // A model file's matrix read as any other's has a use for both.
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
  for (int i = 0; i < 3000; ++i) text += "w" + std::to_string(i) + " 1 2 3\n";
  const std::string model = directory_.path("model");
  ASSERT_TRUE(convert(directory_.write("in", text), model, {}).ok());
  int64_t stop_at = 0;  // the call of the callback that says so
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
  // The header, a piece of each tensor, and 3000 rows in passes over words, order, rows and padding.
  EXPECT_GE(stop_at, 1 + 8 + 4 * (3000 / 256));
}

// Rows whose number is promised, and not: the codes are then moved in the end.
TEST_F(BadInput, AConversionStopsBetweenAnyTwoStepsAndLeavesNothing) {
  for (const std::string header : {"", "100 3\n"}) {
    std::string text = header;
    for (int i = 0; i < 100; ++i) text += "w" + std::to_string(i) + " 1 2 3\n";
    const std::string path = directory_.write("in", text);
    const std::string output = directory_.write("out", "as it was");
    const auto before = directory_.entries();
    int64_t stop_at = 0;  // the question that is answered so
    while (true) {
      ASSERT_LT(stop_at, 1000);
      int64_t calls = 0;
      ConvertOptions options;
      options.interrupted = [&] {
        // Never asked after the renaming: it could only say what is not so.
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
