// Broken text files and headers, and the limits of text.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "convert/convert.h"
#include "loader/open.h"
#include "tests/loader/bad_input.h"
#include "tests/share.h"

namespace glove {
namespace {

using testing::BadInput;
using testing::floats;
using testing::gzipped;

TEST_F(BadInput, Text) {
  expect_error("", "the file is empty");
  expect_error("\n\n",
               "offset 0: the content is of no known format (glove-model, glove-shards, static-model, "
               "safetensors, numpy, "
               "fasttext, word2vec-binary, "
               "word2vec-text, text-matrix, norm-text, glove-text, norm-binary)");
  expect_row_error("a 1 2 3\nb 1 2\nc 1 2 3\n",
                   "line 2: a word and 3 numbers were expected, but it has 2 after its first field");
  expect_row_error("a 1 2 3\nb 1 nan 3\nc 1 2 3\n", "line 2: component 2 is NaN");
  expect_row_error("a 1 2 3\nb 1 2 -1e39\n", "line 2: component 3 is infinite");
  expect_row_error("a 1 2 3\n\nb 1 2 3\nc 1 two 3\nd 1 2 3\n",
                   "line 4: a word and 3 numbers were expected, but 'two' is not a number");
  expect_row_error("a 1 2 3\nb 1 2 3\n 1 2 3\n", "line 3: there is no word before the numbers");
  expect_row_error("a 1 2\n" + std::string(70000, 'w') + " 1 2\n",
                   "line 2: the word has 70000 bytes; the most is 65536");
  expect_error("a 1 2\n" + std::string(size_t{25} << 20, 'w'),
               "line 2: the line is longer than 16777216 bytes; this is not a text of words and numbers");
}

TEST_F(BadInput, Word2vec) {
  expect_row_error("2 3\na 1 2 3", "line 3: the file ends after 1 row, but its header promises 2");
  expect_error("1 3\na 1 2 3\nb 1 2 3\n", "line 3: the header promises 1 row, but there are more");
  expect_row_error("2 3\na 1 2 3\nb 1 2\n",
                   "line 3: a word and 3 numbers were expected, but it has 2 after its first field");
  expect_error(
      "2 70000\na 1 2 3\n",
      "line 1: the header says 2 rows of 70000 dimensions; a model has 1 to 2147483583 rows of 1 to 65536");
  expect_row_error("2 2\na " + floats({1, 2}) + "b " + floats({3}),
                   "row 2: offset 14: the file ends early; its header promises 2 rows");
  expect_error("1 2\na " + floats({1, 2}) + "b " + floats({3, 4}),
               "offset 14: there are bytes after the 1 row that the header promises");
  expect_row_error("2 2\na " + floats({1, 2}) + "b " + floats({3, NAN}), "row 2: component 2 is NaN");
  expect_error("9 1\na " + floats({1}) + std::string(70000, '\1'),
               "row 2: offset 10: the word is longer than 65536 bytes; the rows before have another length "
               "than the header says, or the file is damaged");
}

TEST_F(BadInput, HeadersThatPromiseWhatIsNotThere) {
  const std::string rows = "a 1 2 3\nb 4 5 6\nc 7 8 9\n";
  expect_row_error("400000 3\n" + rows + "d 1 2 3",
                   "line 6: the file ends after 4 rows, but its header promises 400000");
  for (const std::string count :
       {"99999999999", "-3", "0", "2147483584", "99999999999999999999", "-99999999999999999999"}) {
    const std::string message = " rows of 3 dimensions; a model has 1 to 2147483583 rows of 1 to 65536";
    expect_error(count + " 3\n" + rows, "line 1: the header says " + count + message);
    expect_error("\xEF\xBB\xBF" + count + "\t3 \r\n" + rows, "line 1: the header says " + count + message);
    expect_error(count + " 3\na " + floats({1, 2, 3}), "line 1: the header says " + count + message);
  }
  // A header before no rows, or before rows of another length than it declares.
  for (const std::string text : {"0 100\n", "0 100\r\n", "0 100\n\n\n", "0 100\na 1 2\nb 3 4\n"})
    expect_error(
        text,
        "line 1: the header says 0 rows of 100 dimensions; a model has 1 to 2147483583 rows of 1 to 65536");
  // Rows that are longer than the sample from which the format is detected.
  std::string row = "a";
  for (int i = 0; i < 65536; ++i) row += " 1.5";
  expect_error(
      "-1 65536\n" + row,
      "line 1: the header says -1 rows of 65536 dimensions; a model has 1 to 2147483583 rows of 1 to 65536");
  // With one number per line, a possible header is read as one, and the message names the alternative.
  const std::string hint =
      "; if that is a word and its number, name the format glove-text (--format of glove-convert, \"format\" "
      "of "
      "glove_load)";
  expect_error("2003 1\nof 2\nand 3\n",
               "line 4: the file ends after 2 rows, but its header promises 2003" + hint);
  expect_error("1 1\nof 2\nand 3\n", "line 3: the header promises 1 row, but there are more" + hint);
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
  // If the content is ambiguous, the format that the caller names decides.
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
  // Words that end in numbers are recognised by the other rows, or if the caller names the format.
  const auto some = open_model(directory_.write("in", "3 2\nat 1 2 3\nat 4 5 6\nplain 7 8\n"));
  ASSERT_TRUE(some.ok()) << some.error().message;
  EXPECT_EQ(some.value()->vocabulary().word(0), "at 1");
  OpenOptions options;
  options.read.format = "word2vec-text";
  const auto all = open_model(directory_.write("in", "2 2\nat 1 2 3\nat 4 5 6\n"), options);
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_EQ(all.value()->vocabulary().word(1), "at 4");
}

// Lines that are longer than the sample from which formats are detected.
TEST_F(BadInput, LinesAsLongAsTheyMayBe) {
  const auto line = [](const std::string& word, int numbers, const std::string& number) {
    std::string text = word;
    for (int i = 0; i < numbers; ++i) text += " " + number;
    return text + "\n";
  };
  const std::string small = "-0.000123456789";
  for (const int dims : test::kShare == 1 ? std::vector{20000, 65536} : std::vector{65536})
    for (const std::string end : {"", "\n"}) {
      const std::string text = line("a b", dims, small) + line("c", dims, "2") + line("d", dims, "3") + "e" +
                               line("", dims, "1.5").substr(0, 4 * static_cast<size_t>(dims)) + end;
      for (const std::string format : {"", "glove-text"})
        for (const bool compressed : {false, true}) {
          if (dims == 65536 && compressed != end.empty()) continue;  // half of the cases are enough
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
  // With norms, which are one number more per line.
  const std::string row = " 256" + line("", 65536, "1");
  const auto with_norms = open_model(directory_.write("in", "a" + row + "b" + row + "c" + row));
  ASSERT_TRUE(with_norms.ok()) << with_norms.error().message;
  EXPECT_EQ(with_norms.value()->source().format, "norm-text");
  EXPECT_EQ(with_norms.value()->dims(), 65536);
  expect_error(line("a", 65537, "1") + line("b", 65537, "2"),
               "its lines have 65537 components; a model has at most 65536");
  expect_error(std::string(size_t{40} << 20, 'x'),
               "offset 0: the content is of no known format (glove-model, glove-shards, static-model, "
               "safetensors, numpy, "
               "fasttext, word2vec-binary, "
               "word2vec-text, text-matrix, norm-text, glove-text, norm-binary)");
}

// The disk space that is reserved depends on the size of the input, whatever its header promises.
TEST_F(BadInput, APromiseReservesNoMoreThanTheFileHasRoomFor) {
  const auto most_reserved = [&](const std::string& content) {
    int64_t most = 0;
    ConvertOptions options;
    options.progress = [&](int64_t, int64_t) {
      for (const int descriptor : directory_.open_unnamed_files()) {
        struct stat info {};
        if (::fstat(descriptor, &info) == 0) most = std::max(most, int64_t{info.st_blocks} * 512);
      }
      return true;
    };
    (void)convert(directory_.write("in", content), directory_.path("out"), options);
    EXPECT_GT(most, 0);
    return most;
  };
  constexpr int kRows = test::kShare == 1 ? 200000 : 100000;
  std::string text;
  for (int i = 0; i < kRows; ++i) text += "w" + std::to_string(i) + " 1 2 3 4 5\n";
  std::string binary;
  for (int i = 0; i < kRows; ++i) binary += "w" + std::to_string(i) + " " + floats({1, 2, 3, 4, 5});
  // A component takes at least two bytes of text, and four bytes of vectors and one of codes. Of a row, which
  // takes at least twelve bytes of text, 24 bytes and the word are kept.
  for (const std::string& count :
       std::vector<std::string>{"", std::to_string(kRows + 1), "500000", "99999999"})
    for (const bool is_binary : {false, true}) {
      if (count.empty() && is_binary) continue;
      const std::string header = count.empty() ? "" : count + " 5\n";
      const std::string content = header + (is_binary ? binary : text);
      EXPECT_LT(most_reserved(content), 5 * static_cast<int64_t>(content.size()) + 65536)
          << count << (is_binary ? " binary" : " text");
    }
}

}  // namespace
}  // namespace glove
