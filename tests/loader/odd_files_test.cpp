// Files as people have them: odd rows, headers, lists of words, line ends and encodings.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/system_calls.h"
#include "convert/convert.h"
#include "tests/loader/bad_input.h"

namespace glove {
namespace {

using testing::floats;

class OddFiles : public testing::BadInput {
 protected:
  // Loads a file, and converts it to the same words and notes. Returns "word word ... | notes", or the error
  // without the path, with the vectors' first components if asked.
  std::string load(const std::string& content, const OpenOptions& options = {}, bool numbers = false) {
    const std::string path = directory_.write(name_, content);
    const auto opened = open_model(path, options);
    ConvertOptions convert_options;
    convert_options.read = options.read;
    convert_options.top = options.top;
    const auto converted = convert(path, directory_.path("out"), convert_options);
    EXPECT_EQ(opened.ok(), converted.ok());
    if (!opened.ok()) {
      EXPECT_EQ(opened.error().message, converted.status().error().message);
      return opened.error().message.substr(opened.error().message.starts_with(path) ? path.size() + 2 : 0);
    }
    const Model& model = *opened.value();
    const ModelPtr file = open_model(directory_.path("out")).value();
    EXPECT_EQ(model.words(), file->words());
    std::string text;
    for (int64_t id = 0; id < model.words(); ++id) {
      EXPECT_EQ(model.vocabulary().word(id), file->vocabulary().word(id));
      text += (id > 0 ? " " : "") + std::string(model.vocabulary().word(id));
      if (numbers) text += "=" + std::to_string(static_cast<int>(model.vector(id)[0]));
    }
    std::string notes = converted.value().notes;
    for (size_t at = 0; (at = notes.find('\n', at)) != std::string::npos;) notes.replace(at, 1, "; ");
    EXPECT_EQ(model.source().notes, notes);
    return notes.empty() ? text : text + " | " + notes;
  }

  std::string skipped(const std::string& content) {
    OpenOptions options;
    options.read.skip_invalid = true;
    return load(content, options);
  }

  std::string listed(const std::string& list, const std::string& content = "0.5 1\n0.25 2\n0.75 3\n",
                     bool numbers = false) {
    OpenOptions options;
    options.read.words_path = directory_.write("list", list);
    return load(content, options, numbers);
  }

  std::string name_ = "in";
};

std::string binary(std::initializer_list<std::pair<std::string, std::vector<float>>> rows, bool newlines,
                   const std::string& header) {
  std::string bytes = header + "\n";
  for (const auto& [word, vector] : rows)
    bytes += word + " " + std::string(reinterpret_cast<const char*>(vector.data()), vector.size() * 4) +
             (newlines ? "\n" : "");
  return bytes;
}

const char* const kHint =
    "; --skip-invalid of glove-convert or \"invalid\":\"skip\" of glove_load leaves such rows out";

TEST_F(OddFiles, RowsThatAreLeftOut) {
  const std::string none = " | 1 row left out that have no word; the first is line 3";
  EXPECT_EQ(skipped("3 3\na 1 2 3\n 2 3 4\nb 3 4 5\n"), "a b" + none);
  EXPECT_EQ(skipped("3 3\na 1 2 3\n\t 2 3 4\nb 3 4 5\n"), "a b" + none);
  EXPECT_EQ(skipped("3 3\na 1 2 3\n  2 3 4\nb 3 4 5\n"), "a b" + none);
  EXPECT_EQ(load("3 3\na 1 2 3\n  2 3 4\nb 3 4 5\n"),
            std::string("line 3: there is no word before the numbers") + kHint);
  EXPECT_EQ(skipped("a 1 2 3\nb 1 2\nc 1 2 3\nd 1 x 3\ne 1 2 3\nf 1 2 3 4\n"),
            "a c e | 3 rows left out that have another number of components; the first is line 2");
  EXPECT_EQ(skipped("a 1 2\nb 1 nan\nc 1 2\nd -inf 2\ne 1e39 2\n"),
            "a c | 3 rows left out that have a component that is NaN or infinite; the first is line 2");
  EXPECT_EQ(skipped("a 1 2\n" + std::string(70000, 'w') + " 1 2\nc 1 2\n"),
            "a c | 1 row left out that have a word that is too long; the first is line 2");
  // Several kinds, each with its first line, beyond the first block of rows.
  std::string many;
  for (int i = 0; i < 50000; ++i) many += "w" + std::to_string(i) + " 1.5 2.5 3.5\n";
  const std::string all = skipped(many + " 1 2 3\nx 1 2\n" + many + "y 1 2\nz nan 1 2\n");
  EXPECT_EQ(all.substr(all.find('|')),
            "| 1 row left out that have no word; the first is line 50001; 2 rows left out that have another "
            "number of components; the first is line 50002; 1 row left out that have a component that is NaN "
            "or infinite; the first is line 100004; 50000 rows left out for a word that was there already");
  EXPECT_EQ(skipped(" 1 2 3\n 2 3 4\n"), "there is no row");
}

TEST_F(OddFiles, BinaryRowsThatAreLeftOut) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool newlines : {false, true}) {
    EXPECT_EQ(
        skipped(binary({{"a", {1, 2}}, {"", {3, 4}}, {"b", {nan, 1}}, {"\t", {1, 2}}, {"c", {5, 6}}},
                       newlines, "5 2")),
        "a c | 1 row left out that have an empty word; the first is row 2; 1 row left out that have a "
        "component that is NaN or infinite; the first is row 3; 1 row left out that have a word of white "
        "space; the first is row 4");
    EXPECT_EQ(load(binary({{"a", {1, 2}}, {"", {3, 4}}}, newlines, "2 2")),
              std::string("row 2: the word is empty") + kHint);
  }
  EXPECT_EQ(skipped("3 2\na " + floats({1, 2}) + "b " + floats({3, 4}) + "c " + floats({5})),
            "a b | the file ends after 2 rows, but its header promises 3");
}

TEST_F(OddFiles, HeadersThatPromiseMoreRows) {
  const std::string rows = "a 1 2 3\nb 4 5 6\n";
  EXPECT_EQ(load("3 3\n" + rows), "a b | the file ends after 2 rows, but its header promises 3");
  EXPECT_EQ(skipped("1000000 3\n" + rows),
            "a b | the file ends after 2 rows, but its header promises 1000000");
  EXPECT_EQ(load("3 2\n" + binary({{"a", {1, 2}}, {"b", {3, 4}}}, true, "").substr(1)),
            "a b | the file ends after 2 rows, but its header promises 3");
  // The last row may have been cut off.
  EXPECT_EQ(load("4 3\n" + rows + "c 1 2 3"),
            std::string("line 5: the file ends after 3 rows, but its header promises 4") + kHint);
  EXPECT_EQ(skipped("4 3\n" + rows + "c 1 2 3"),
            "a b | the file ends after 2 rows, but its header promises 4");
  EXPECT_EQ(load("3 3\n" + rows + "c 1 2 3"), "a b c");
  OpenOptions options;
  options.top = 2;
  EXPECT_EQ(load("9 3\n" + rows + "c 1 2 3\n", options).substr(0, 3), "a b");
  options.top = 20;
  EXPECT_EQ(load("9 3\n" + rows, options), "a b | the file ends after 2 rows, but its header promises 9");
}

TEST_F(OddFiles, LineEnds) {
  EXPECT_EQ(load("a 1 2 3\rb 2 3 4\rc 3 4 5\r"), "a b c");
  EXPECT_EQ(load("a 1 2 3\rb 2 3 4\nc 3 4 5\r\nd 4 5 6"), "a b c d");
  EXPECT_EQ(load("2 3\ra 1 2 3\rb 2 3 4\r"), "a b");
  EXPECT_EQ(load("2 3\r\na 1 2 3\r\nb 2 3 4\r\n"), "a b");
  EXPECT_EQ(
      load("a 1 2 3\r\nb 2 3\r\n"),
      "line 2: a word and 3 numbers were expected, but it has 2 after its first field" + std::string(kHint));
  EXPECT_EQ(listed("x\ry\rz\r"), "x y z");
  std::string text, words;
  for (int i = 0; i < 70000; ++i) {  // the pairs of characters lie across the ends of blocks
    text += "w" + std::to_string(i) + " 1.5 2.5" + (i % 3 == 0 ? "\r\n" : i % 3 == 1 ? "\r" : "\n");
    words += (i > 0 ? " w" : "w") + std::to_string(i);
  }
  EXPECT_EQ(load(text), words);
}

TEST_F(OddFiles, MatricesOfNumbers) {
  name_ = "vectors.tsv";
  const std::string tabs = "0.1257\t-0.13\n-0.5357\t0.36\n-0.7037\t-1.27\n";
  EXPECT_EQ(load(tabs).substr(0, 46), "the file contains vectors without words; name ");
  EXPECT_EQ(listed("x\ny z\n7 5\n", tabs), "x y z 7 5");
  EXPECT_EQ(listed("x\ny\nz\n\n\n", " 1.5e0 2\n+2.0E+00 3\n\n3 4", true), "x=1 y=2 z=3");
  EXPECT_EQ(listed("x\ny\nz\n", "1 2\n2 3\n3 4\n", true), "x=1 y=2 z=3") << "integers, with a list";
  const std::string list = "'" + directory_.path("list") + "' has ";
  EXPECT_EQ(listed("x\ny\n", tabs), list + "2 words, but there are more rows");
  EXPECT_EQ(listed("x\ny\nz\nq\n", tabs), list + "more words than the 3 rows");
  EXPECT_EQ(load("17 0.1 0.2\n23 0.3 0.4\n"), "17 23") << "ids are words";
  EXPECT_EQ(load("2 2\n17 0.1 0.2\n23 0.3 0.4\n"), "17 23");
  EXPECT_EQ(load("0.5 0.1 0.2\nx 0.3 0.4\n"), "0.5 x");
  directory_.write("metadata.tsv", "Word\tCount\nthe\t3\nof\t2\nand\t1\n");
  EXPECT_EQ(load(tabs), "the of and");
  directory_.write("metadata.tsv", "the\nof\nand\n");
  EXPECT_EQ(load(tabs), "the of and");
  OpenOptions options;
  options.read.skip_invalid = true;
  EXPECT_EQ(load("0.5\t1\n0.5\t1\t2\n0.5\t3\n", options),
            "the and | 1 row left out that have another number of components; the first is line 2");
}

TEST_F(OddFiles, WordListsWithMoreThanWords) {
  const std::string note = "the numbers after the words of '" + directory_.path("list") +
                           "' are left out; they can be used as frequencies";
  EXPECT_EQ(listed("the 100\nof 50\nand 20\n"), "the of and | " + note);
  EXPECT_EQ(listed("</s> 0\nof\t50\nnew york\t20\n"), "</s> of new york | " + note);
  EXPECT_EQ(listed("\"the\" 100\n\"of\" 50\n\"and\" 50\n"), "the of and | " + note);
  // What only looks so.
  EXPECT_EQ(listed("doc 3\ndoc 2\ndoc 1\n"), "doc 3 doc 2 doc 1");
  EXPECT_EQ(listed("area 51\nroute 66\nb 70\n"), "area 51 route 66 b 70");
  EXPECT_EQ(listed("the 100\nof 50\nand\n"), "the 100 of 50 and");
  EXPECT_EQ(listed("3\n2\n1\n"), "3 2 1");
  EXPECT_EQ(listed("a1\nb\n\"c\"\n"), "a1 b \"c\"");
  // Quotation marks and columns.
  EXPECT_EQ(listed("\"the\"\n\"\"\"\"\n\"a \"\"b\"\"\"\n"), "the \" a \"b\"");
  EXPECT_EQ(listed("id\tword\n1\tthe\n2\tof\n3\tand\n"), "the of and");
  EXPECT_EQ(listed("Label\tid\r\n\"the\"\t1\r\n\"of\"\t2\r\n\"x\"\t3\r\n"), "the of x");
  EXPECT_EQ(listed("the\t1\nof\t1.5\nx\t3\n"), "the of x") << "no names of columns";
  EXPECT_EQ(listed("\xEF\xBB\xBF\"the\"\n\"of\"\n\"x\"\n\n"), "the of x");
  EXPECT_EQ(listed("the\n\nof\n"), std::string("line 2: the word is empty") + kHint);
}

TEST_F(OddFiles, BinaryWordsWithSpaces) {
  for (const bool newlines : {false, true}) {
    EXPECT_EQ(load(binary({{"a", {1, 2, 3}}, {"new york", {4, 5, 6}}, {"c", {7, 8, 9}}}, newlines, "3 3"), {},
                   true),
              "a=1 new york=4 c=7");
    EXPECT_EQ(
        load(binary({{"a", {1, 2, 3}}, {"b b", {4, 5, 6}}, {"c", {7, 8, 9}}}, newlines, "3 3"), {}, true),
        "a=1 b b=4 c=7");
    EXPECT_EQ(load(binary({{"in spite of", {0.1f, 2, 3}}, {"b", {4, 5, 6}}, {"of the Year", {7, 8, 9}}},
                          newlines, "3 3"),
                   {}, true),
              "in spite of=0 b=4 of the Year=7");
  }
  // Another number of dimensions than the header says.
  const std::string wrong = load(binary({{"a", {1, 2, 3}}, {"b", {4, 5, 6}}, {"c", {7, 8, 9}}}, true, "3 2"));
  EXPECT_EQ(wrong.substr(0, 7), "row 2: ");
  EXPECT_NE(wrong.find("the header says another number of dimensions"), std::string::npos) << wrong;
  EXPECT_EQ(load(binary({{"a", {1e25f, 2}}, {"b", {4, 5}}}, true, "2 2")).substr(0, 38),
            "row 1: component 1 of 'a' is 999999956");
}

TEST_F(OddFiles, WordsThatAreNotUtf8) {
  // word2vec.c cuts long words within a character.
  const std::string cut = binary({{"\xE9\x9F\xB3\xE4", {1, 2}},
                                  {"\xE9\x9F\xB3", {1, 3}},
                                  {"m", {1, 4}},
                                  {"\xE9\x9F\xB3\xE5", {1, 5}},
                                  {"\xE9\x9F\xB3\xE4", {1, 6}},
                                  {"\xE9\x9F\xB3\xEF\xBF\xBD", {1, 7}},
                                  {"\xE9\x9F\xB3\xEF\xBF\xBD", {1, 8}}},
                                 true, "7 2");
  const std::string base = "\xE9\x9F\xB3\xEF\xBF\xBD";
  const std::string tail = " | 2 rows left out for a word that was there already; ";
  EXPECT_EQ(load(cut), base + " \xE9\x9F\xB3 m " + base + "2 " + base + "3" + tail +
                           "3 words not valid in UTF-8, with U+FFFD for each invalid byte");
  OpenOptions options;
  options.read.invalid_utf8 = InvalidUtf8::kSkip;
  EXPECT_EQ(load(cut, options), "\xE9\x9F\xB3 m " + base +
                                    " | 1 row left out for a word that was there already; 3 words not valid "
                                    "in UTF-8, left out");
  options.read.invalid_utf8 = InvalidUtf8::kKeep;
  EXPECT_EQ(load(cut, options), "\xE9\x9F\xB3\xE4 \xE9\x9F\xB3 m \xE9\x9F\xB3\xE5 " + base + tail +
                                    "3 words not valid in UTF-8, kept unchanged");
  EXPECT_EQ(load("\xEF\xBF\xBD 1 2\n\xFF 1 3\n\xEF\xBF\xBD 1 4\n\xFE 1 5\n\xEF\xBF\xBD"
                 "2 1 6\n"),
            "\xEF\xBF\xBD \xEF\xBF\xBD"
            "2 \xEF\xBF\xBD"
            "3 \xEF\xBF\xBD"
            "22 | 1 row left out for a word that was "
            "there already; 2 words not valid in UTF-8, with U+FFFD for each invalid byte");
}

#ifdef __GLIBC__
TEST_F(OddFiles, Encodings) {
  std::string bytes;
  std::vector<size_t> ends;
  if (!system_calls::recode("GBK", {}, bytes, ends).ok()) GTEST_SKIP() << "iconv has no GBK here";
  OpenOptions options;
  options.read.encoding = "latin1";
  EXPECT_EQ(load("caf\xE9 1 2\n\xFC"
                 "ber 3 4\n",
                 options),
            "caf\xC3\xA9 \xC3\xBC"
            "ber");
  options.read.encoding = "GBK";
  EXPECT_EQ(
      load("\xC4\xE3\xBA\xC3 1 2\n\xD2\xF4\xC0 3 4\n", options),
      "\xE4\xBD\xA0\xE5\xA5\xBD \xE9\x9F\xB3\xEF\xBF\xBD | 1 word not valid in UTF-8, with U+FFFD for each "
      "invalid byte");
  options.read.encoding = "Shift_JIS";
  EXPECT_EQ(load("\x93\x8C\x8B\x9E 1 2\nx 3 4\n", options), "\xE6\x9D\xB1\xE4\xBA\xAC x");
  for (const std::string name : {"klingon", "utf-8//IGNORE", ""}) {
    options.read.encoding = name;
    const std::string told = load("caf\xE9 1 2\n", options);
    if (!name.empty()) {
      EXPECT_EQ(told, "the C library has no encoding '" + name + "'; iconv -l lists those that it can have");
    }
  }
  options.read.encoding = "latin1";
  const std::string model = directory_.path("out");
  EXPECT_NE(open_model(model, options).status().error().message.find("is opened as a whole"),
            std::string::npos);
}
#endif

TEST_F(OddFiles, FilesOfOtherPrograms) {
  const std::map<std::string, std::string> files = {
      {"\x80\x04\x95"
       "cgensim.models.keyedvectors\nKeyedVectors\n",
       "a pickle of Python; save the vectors"},
      {std::string("GGUF\3\0\0\0", 8) + std::string(60, '\0'), "GGUF, a language model"},
      {"word,x,y\na,1,2\nb,2,3\n", "a table or database"},
      {"word;x;y\r\na;1,5;2\r\n", "a table or database"},
      {std::string("\xFF\xFE"
                   "a\0 \0001\0\n\0",
                   10),
       "text in UTF-16; convert it with iconv"},
      {std::string("\xFE\xFF\0a\0 \0001\0\n", 10), "text in UTF-16; convert it with iconv"},
      {" <!DOCTYPE html>\n<html></html>\n", "a page of HTML or XML"},
      {"{\"the\": [1, 2]}\n", "JSON; write a word"},
      {"[[1, 2]]", "JSON; write a word"},
      {"PAR1" + std::string(20, '\0'), "a table or database"},
      {"7z\xBC\xAF\x27\x1C" + std::string(9, '\0'), "an archive; unpack it"},
      {std::string("vectors.txt") + std::string(246, '\0') + "ustar" + std::string(99, '\0'),
       "an archive; unpack"},
      {"\x89HDF\r\n\x1A\n" + std::string(9, '\0'), "HDF5; save the matrix"}};
  for (const auto& [content, what] : files) {
    const std::string told = load(content);
    EXPECT_EQ(told.substr(0, 12 + what.size()), "the file is " + what) << told;
  }
}

}  // namespace
}  // namespace glove
