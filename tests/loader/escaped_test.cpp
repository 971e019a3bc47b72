// How messages show bytes from files and from other people.
#include <gtest/gtest.h>

#include <string>

#include "base/concat.h"

namespace glove {
namespace {

TEST(Escaped, LeavesTextAsItIs) {
  for (const std::string text : {"", "plain", "größe", "日本", "😀", "a b\\c'd\"", "\u00A0", "\uFFFD"})
    EXPECT_EQ(escaped(text), text);
}

TEST(Escaped, SpellsOutWhatChangesTheTerminalOrTheText) {
  EXPECT_EQ(escaped(std::string("a\0b\n\x1b[2J\x7f", 9)), "a\\x00b\\x0a\\x1b[2J\\x7f");
  EXPECT_EQ(escaped("\u009b1m"), "\\xc2\\x9b1m");
  EXPECT_EQ(escaped("\u202egnp.exe"), "\\xe2\\x80\\xaegnp.exe");
  EXPECT_EQ(escaped("\u2066\u200b\ufeff\u061c"), "\\xe2\\x81\\xa6\\xe2\\x80\\x8b\\xef\\xbb\\xbf\\xd8\\x9c");
  EXPECT_EQ(escaped("\xff\xc3"), "\\xff\\xc3");
}

TEST(Escaped, CutsBetweenCharacters) {
  EXPECT_EQ(escaped("abcdef", 6), "abcdef");
  EXPECT_EQ(escaped("abcdefg", 6), "abcdef...");
  EXPECT_EQ(escaped("abcdeßg", 6), "abcde...");
}

TEST(ShortList, TellsHowManyThereAre) {
  ShortList names;
  EXPECT_EQ(names.text(), "");
  for (int i = 1; i <= 10; ++i) names.add(std::to_string(i));
  EXPECT_EQ(names.text(), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10");
  for (int i = 0; i < 20000; ++i) names.add("\x1b");
  EXPECT_EQ(names.text(), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20000 more");
}

}  // namespace
}  // namespace glove
