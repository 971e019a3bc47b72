// Which words of a model a text has.
#include "text/vocabulary_words.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/model_builder.h"
#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

using Words = std::vector<std::string>;

ModelPtr model_of(const Words& words) {
  ModelBuilder builder("test");
  for (const std::string& word : words) EXPECT_TRUE(builder.add(word, std::vector<float>{1}).value());
  return builder.finish(1).value();
}

// The words of a text with a space between them, and '?' behind those that the model lacks.
std::string split(const Model& model, std::string_view text, TokenizerOptions options = {}) {
  const WordIndex index(model.vocabulary());
  VocabularyWords words(text, options, index, model.vocabulary());
  std::string found;
  for (EncodedToken word; words.next(word, nullptr);) {
    found += (found.empty() ? "" : " ") + std::string(word.text) + (word.id ? "" : "?");
  }
  return found;
}

using Cases = std::vector<std::pair<std::string_view, std::string_view>>;

void expect(const Words& vocabulary, const Cases& cases, TokenizerOptions options = {}) {
  const ModelPtr model = model_of(vocabulary);
  for (const auto& [text, words] : cases) EXPECT_EQ(split(*model, text, options), words) << text;
}

TEST(VocabularyWords, Han) {
  const Words words = {"你好",   "你",   "好",   "吗",  "北京",   "北京大学",
                       "大学生", "大学", "生活", "t恤", "卡拉ok", "人々"};
  expect(words, {{"你好吗", "你好 吗"},
                 {"你好，好吗？", "你好 好 吗"},
                 {"北京大学生活", "北京大学 生活"},
                 {"北京大人", "北京 大? 人?"},
                 {"我在北京", "我? 在? 北京"},
                 {"买T恤、唱卡拉OK", "买? t恤 唱? 卡拉ok"},
                 {"人々の大学", "人々 の? 大学"}});
  expect(words, {{"你好吗", "你 好 吗"}, {"T恤", "t? 恤?"}}, {true, false});
}

TEST(VocabularyWords, Japanese) {
  expect({"東京", "大学", "食べる", "コンピュータ", "ー", "東京ドーム", "ガス", "を", "です"},
         {{"東京大学", "東京 大学"},
          {"東京ドームです。", "東京ドーム です"},
          {"大学を食べる", "大学 を 食べる"},
          {"コンピュータコンピューター", "コンピュータ コンピュータ ー"},
          {"ガス東京", "ガス 東京"},
          {"カタ", "カ? タ?"},
          {"東京ﾄﾞｰﾑのｶﾞｽ", "東京ドーム の? ガス"}});
  expect({"カタカナ"}, {{"カタカナひら", "カタカナ ひ? ら?"}}, {true, false});
}

TEST(VocabularyWords, ScriptsWithoutSpaces) {
  expect({"สวัสดี", "ครับ", "ไทย", "ภาษา", "ภาษาไทย", "พ.ศ.", "น้ำ", "กำ"}, {{"สวัสดีครับ", "สวัสดี ครับ"},
                                                                         {"ภาษาไทยไทย", "ภาษาไทย ไทย"},
                                                                         {"สวัสดีชาวไทย", "สวัสดี ช? า? ว? ไทย"},
                                                                         {"พ.ศ. ๒๕๖๗", "พ.ศ. ๒๕๖๗?"},
                                                                         {"น้ำ", "น้ำ"},
                                                                         {"กำไทย", "กำ ไทย"}});
  expect({"ສະບາຍດີ", "ພາສາ", "ລາວ"}, {{"ສະບາຍດີພາສາລາວ", "ສະບາຍດີ ພາສາ ລາວ"}, {"ລາວ", "ລາວ"}});
  expect({"ភាសា", "ខ្មែរ", "ភាសាខ្មែរ"}, {{"ភាសាខ្មែរ", "ភាសាខ្មែរ"}, {"ខ្មែរភាសា", "ខ្មែរ ភាសា"}});
  expect({"မြန်မာ", "ဘာသာ", "စကား"}, {{"မြန်မာဘာသာစကား", "မြန်မာ ဘာသာ စကား"}, {"စကားမြန်မာ", "စကား မြန်မာ"}});
  expect({"ไทย"}, {{"ภาษาไทย", "ภาษาไทย?"}}, {true, false});
}

TEST(VocabularyWords, Phrases) {
  const Words words = {"new",       "york",          "new_york",  "new_york_times",
                       "ice_cream", "san_francisco", "u.s._army", "of"};
  expect(words, {{"The New York Times of New York.", "the? new_york_times of new_york"},
                 {"New York's ice cream", "new_york 's? ice_cream"},
                 {"NEW YORK TIME", "new_york time?"},
                 {"San\nFrancisco, the U.S. Army", "san_francisco the? u.s._army"},
                 {"new_york snake_case", "new_york snake? case?"},
                 {"new, york new-york new  york", "new york new york new york"},
                 {"of San Franciscos", "of san? franciscos?"}});
  expect({"New_York", "New", "new_york", "york"},
         {{"New York", "New_York"}, {"NEW YORK", "new_york"}, {"new York", "new_york"}, {"York", "York"}},
         {false});
  expect(words, {{"New York", "new york"}}, {true, false});
}

TEST(VocabularyWords, Punctuation) {
  const Words words = {"c",   "c++", "c#",       ".net", "node.js", "net",  "at&t",       "ph.d.",  "don't",
                       "don", "do",  "covid-19", "-x",   "x-ray",   "well", "well-known", "and/or", "'em"};
  expect(words, {{"C++, C# (c)", "c++ c# c"},
                 {"a .NET, \".net\" x.net", "a? .net .net x? net"},
                 {"Node.js. C+", "node.js c"},
                 {"AT&T and/or Ph.D.", "at&t and/or ph.d."},
                 {"don't Don isn't do", "don't don is? n't? do"},
                 {"an X-ray of COVID-19", "an? x-ray of? covid-19"},
                 {"well-known, 10-x", "well known? 10? x?"},
                 {"tell 'em", "tell? 'em"},
                 {"net", "net"}});
  expect(words, {{"C++ .NET don't", "c net do n't?"}}, {true, false});
}

TEST(VocabularyWords, NormalForms) {
  expect({"café", "é", "abc", "c++", "가나", "tōkyō"}, {{"cafe\u0301", "café"},
                                                        {"CAFE\u0301 É", "café é"},
                                                        {"ＡＢＣ", "abc"},
                                                        {"Ｃ＋＋", "c++"},
                                                        {"\u1100\u1161\u1102\u1161", "가나"},
                                                        {"To\u0304kyo\u0304", "tōkyō"},
                                                        {"ｘ", "ｘ?"}});
  expect({"cafe\u0301", "e\u0301", "が"},
         {{"Café é", "cafe\u0301 e\u0301"}, {"cafe\u0301 が", "cafe\u0301 が"}});
  expect({"café", "ａ", "ﬁt", "office"}, {{"ａ ａＢ", "ａ ａｂ?"}, {"ﬁt oﬃce", "ﬁt office"}});
  expect({"café"}, {{"cafe\u0301", "cafe\u0301?"}}, {true, false});
}

// Whatever the bytes are: each word is one that the tokeniser can find in the text, or one of the vocabulary.
TEST(VocabularyWords, RandomTexts) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(68);
  const Words pieces = {"a",  "b_c",  "+",  ".",        "'s", "n't", "é",    "\u0301",
                        "中", "文",   "ﾞ",  "ｶ",        "ำ",  "-",   "1",    " ",
                        "_",  "\xff", "Ａ", "\xe4\xb8", "ก",  "’",   "U.S.", std::string(1, '\0')};
  const auto text_of = [&](uint64_t most) {
    std::string text;
    for (uint64_t i = random() % most + 1; i > 0; --i) text += pieces[random() % pieces.size()];
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    ModelBuilder builder("test");
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(builder.add(text_of(4), std::vector<float>{1}).ok());
    const ModelPtr model = builder.finish(1).value();
    for (int i = 0; i < 20; ++i) {
      const std::string text = text_of(40);
      const std::string found = split(*model, text, {random() % 2 == 0});
      ASSERT_LE(found.size(), 12 * text.size() + 40);
    }
  }
}

// Work that is quadratic in the length of one of these would take minutes.
TEST(VocabularyWords, LargeTexts) {
  const ModelPtr model = model_of({"a_" + std::string(200, 'b'), "ab", "a.a.a.b", "กกกกกกกข", "ｶｶｶｶｶｶ"});
  constexpr size_t kBytes = (1 << 18) / kShare;
  for (const std::string piece : {"a ", "a.", "a'", "ก", "ｶ", "a-", "e\u0301", "a  ", "\u0301"}) {
    std::string text;
    while (text.size() < kBytes) text += piece;
    EXPECT_GE(split(*model, text).size(), 0U);
  }
}

}  // namespace
}  // namespace glove::test
