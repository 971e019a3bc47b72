// The rules of the tokeniser, and what it makes of text that nobody would write.
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

using Words = std::vector<std::string>;

Words words_of(std::string_view text, bool lower_case = true, bool longest_match = true) {
  Words words;
  TextTokenizer tokenizer(text, {lower_case, longest_match});
  for (TextToken token; tokenizer.next(token);) words.emplace_back(token.text);
  return words;
}

// The parts of the source that the tokens stand for.
Words sources_of(std::string_view text) {
  Words sources;
  TextTokenizer tokenizer(text);
  for (TextToken token; tokenizer.next(token);) sources.emplace_back(text.substr(token.offset, token.length));
  return sources;
}

std::string repeat(std::string_view piece, size_t times) {
  std::string text;
  text.reserve(piece.size() * times);
  for (size_t i = 0; i < times; ++i) text += piece;
  return text;
}

size_t count_of(std::string_view text) {
  size_t count = 0;
  TextTokenizer tokenizer(text);
  for (TextToken token; tokenizer.next(token);) ++count;
  return count;
}

TEST(TokenizerRules, WordsAreRunsOfLettersAndDigits) {
  EXPECT_EQ(words_of("The quick, brown fox!"), (Words{"the", "quick", "brown", "fox"}));
  EXPECT_EQ(words_of("well-known snake_case a/b c++ #tag @name"),
            (Words{"well", "known", "snake", "case", "a", "b", "c", "tag", "name"}));
  EXPECT_EQ(words_of("mp3 4th 2x4"), (Words{"mp3", "4th", "2x4"}));
  EXPECT_EQ(words_of(""), Words{});
  EXPECT_EQ(words_of(" \t\n.,;:!?-_'\"()[]{}<>|&%$"), Words{});
}

TEST(TokenizerRules, LowerCaseIsAnOption) {
  EXPECT_EQ(words_of("McDONALD ÄÖÜ ΣΊΣΥΦΟΣ ДОМ İ Ⱥ"), (Words{"mcdonald", "äöü", "σίσυφοσ", "дом", "i", "ⱥ"}));
  EXPECT_EQ(words_of("McDONALD Ä DON'T", false), (Words{"McDONALD", "Ä", "DO", "N'T"}));
}

TEST(TokenizerRules, NumbersKeepTheirSeparators) {
  EXPECT_EQ(words_of("1,000.50 at 12:30, 3. x.5 .5 5,"),
            (Words{"1,000.50", "at", "12:30", "3", "x", "5", "5", "5"}));
  EXPECT_EQ(words_of("$1,000 50%"), (Words{"1,000", "50"}));
}

TEST(TokenizerRules, CliticsAreWordsOfTheirOwn) {
  EXPECT_EQ(words_of("It's John's; they're, we've I'll I'd I'm"),
            (Words{"it", "'s", "john", "'s", "they", "'re", "we", "'ve", "i", "'ll", "i", "'d", "i", "'m"}));
  EXPECT_EQ(words_of("don't can't won't"), (Words{"do", "n't", "ca", "n't", "wo", "n't"}));
  EXPECT_EQ(words_of("don’t it’s"), (Words{"do", "n't", "it", "'s"}));
  EXPECT_EQ(words_of("do n't it 's 1990's"), (Words{"do", "n't", "it", "'s", "1990", "'s"}));
  EXPECT_EQ(words_of("o'clock O'Brien's rock 'n' roll"),
            (Words{"o'clock", "o'brien", "'s", "rock", "n", "roll"}));
  EXPECT_EQ(words_of("the 'small' dogs' bone"), (Words{"the", "small", "dogs", "bone"}));
}

TEST(TokenizerRules, InitialsAreOneWord) {
  EXPECT_EQ(words_of("The U.S. and e.g. the U.S.A at 5 p.m."),
            (Words{"the", "u.s.", "and", "e.g.", "the", "u.s.a", "at", "5", "p.m."}));
  EXPECT_EQ(words_of("Plan A. B follows. U.S.Army file.txt"),
            (Words{"plan", "a", "b", "follows", "u.s.", "army", "file", "txt"}));
}

TEST(TokenizerRules, OtherScripts) {
  EXPECT_EQ(words_of("北京大学 ひらがな カタカナ 한국어", true, false),
            (Words{"北", "京", "大", "学", "ひ", "ら", "が", "な", "カタカナ", "한국어"}));
  EXPECT_EQ(words_of("カﾀﾞ 々 กิน ລາວ ខ្មែរ မြန် ๒๕"),
            (Words{"カ", "ﾀﾞ", "々", "กิ", "น", "ລ", "າ", "ວ", "ខ្", "មែ", "រ", "မြ", "န်", "๒๕"}));
  EXPECT_EQ(words_of("שלום עולם مرحبا بالعالم"), (Words{"שלום", "עולם", "مرحبا", "بالعالم"}));
  EXPECT_EQ(words_of("हिन्दी में"), (Words{"हिन्दी", "में"}));
  EXPECT_EQ(words_of("e\u0301te\u0301"), (Words{"e\u0301te\u0301"})) << "no normalisation";
  EXPECT_EQ(words_of("co\u00ADoperate \u00AD x\u00AD"), (Words{"cooperate", "x"}));
  EXPECT_EQ(words_of("x²"), (Words{"x²"}));
}

TEST(TokenizerRules, EmojiAndLoneMarksAreNoWords) {
  EXPECT_EQ(words_of("I \u2764\uFE0F NY \U0001F600\U0001F468\u200D\U0001F469\u200D\U0001F467!"),
            (Words{"i", "ny"}));
  EXPECT_EQ(words_of("\u0301\u0301 a"), (Words{"a"}));
}

TEST(TokenizerBytes, MalformedUtf8AndNulSeparateWords) {
  EXPECT_EQ(words_of(std::string_view("ab\0cd", 5)), (Words{"ab", "cd"}));
  EXPECT_EQ(words_of("ab\xff"
                     "cd\xc3"),
            (Words{"ab", "cd"}));
  EXPECT_EQ(words_of("a\xed\xa0\x80"
                     "b\xc0\x80"
                     "c"),
            (Words{"a", "b", "c"}))
      << "surrogate, overlong form";
  EXPECT_EQ(words_of("na\xc3\xafve \xe4\xbd"), (Words{"naïve"}));
}

TEST(TokenizerBytes, TokensKnowTheirPlaces) {
  EXPECT_EQ(sources_of("He’s in the U.S. — DON’T!"), (Words{"He", "’s", "in", "the", "U.S.", "DO", "N’T"}));
}

TEST(TokenizerBytes, LongWordsAreCutBetweenCharacters) {
  const Words words = words_of(repeat("ä", 300));
  ASSERT_EQ(words.size(), 3U);
  EXPECT_EQ(words[0], repeat("ä", 127));
  EXPECT_EQ(words[1], repeat("ä", 127));
  EXPECT_EQ(words[2], repeat("ä", 46));
  EXPECT_EQ(words_of(repeat("a.", 200)).size(), 2U);
}

// Work that is quadratic in the length of one of these would take minutes.
TEST(TokenizerBytes, LargeTexts) {
  constexpr size_t kBytes = (10 << 20) / kShare;
  EXPECT_EQ(count_of(repeat("a ", kBytes / 2)), kBytes / 2);
  EXPECT_EQ(count_of(repeat("a", kBytes)), (kBytes + 254) / 255);
  EXPECT_GT(count_of(repeat("a.", kBytes / 2)), kBytes / 512 - 1);
  EXPECT_GT(count_of(repeat("a.b.cc.", kBytes / 7)), kBytes / 7);
  EXPECT_EQ(count_of(repeat("'", kBytes)), 0U);
  EXPECT_EQ(count_of(repeat("\xff", kBytes)), 0U);
  EXPECT_EQ(count_of(repeat("\u0301", kBytes / 2)), 0U);
  EXPECT_GT(count_of(repeat("1.", kBytes / 2)), 0U);
}

// Whatever the bytes are: words are well-formed, not empty, in order, and do not overlap.
TEST(TokenizerBytes, RandomBytes) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(60);
  const Words pieces = {"a",      "n't",        "'s",   "’",        "é",
                        "\u00AD", "\u0301",     "中",   ".",        ",",
                        "1",      " ",          "\xff", "\xe2\x80", std::string(1, '\0'),
                        "U.S.",   "\U0001F600", "K",    "\u200D"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (uint64_t i = random() % 40; i > 0; --i)
      text +=
          random() % 8 == 0 ? std::string(1, static_cast<char>(random())) : pieces[random() % pieces.size()];
    size_t end = 0;
    TextTokenizer tokenizer(text, {random() % 2 == 0});
    for (TextToken token; tokenizer.next(token);) {
      ASSERT_FALSE(token.text.empty());
      ASSERT_LE(token.text.size(), TextTokenizer::kMostBytes);
      ASSERT_TRUE(is_valid_utf8(token.text));
      ASSERT_EQ(token.text.find('\0'), std::string_view::npos);
      ASSERT_GE(token.offset, end) << text;
      ASSERT_GT(token.length, 0U);
      end = token.offset + token.length;
      ASSERT_LE(end, text.size());
    }
  }
}

}  // namespace
}  // namespace glove::test
