// Text: characters of UTF-8, values in messages, and JSON.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "base/json.h"
#include "base/utf8.h"

namespace glove {
namespace {

// By the table of the standard (Unicode 15, table 3-6).
std::string encoded(uint32_t code) {
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 63))};
  if (code < 0x10000)
    return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 63)), byte(0x80 | (code & 63))};
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 63)), byte(0x80 | (code >> 6 & 63)),
          byte(0x80 | (code & 63))};
}

TEST(Utf8, KnowsEveryCharacterAndNothingElse) {
  // The bytes at the borders of the standard's ranges.
  const std::string borders =
      "\x01\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff";
  std::set<std::string> characters;
  for (uint32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;  // surrogates
    const std::string character = encoded(code);
    ASSERT_EQ(utf8_character_length(character), character.size()) << code;
    ASSERT_EQ(utf8_code_point(character), code);
    if (character.find_first_not_of(borders) == std::string::npos) characters.insert(character);
  }
  for (const char a : borders)
    for (const char b : borders)
      for (const char c : borders)
        for (const char d : borders) {
          const std::string bytes = {a, b, c, d};
          size_t expected = 0;
          for (size_t length = 1; length <= 4; ++length)
            if (characters.contains(bytes.substr(0, length))) expected = length;
          ASSERT_EQ(utf8_character_length(bytes), expected) << escaped(bytes);
          // A character that is cut is none.
          if (expected > 1) {
            ASSERT_EQ(utf8_character_length(std::string_view(bytes).substr(0, expected - 1)), 0u);
          }
        }
  EXPECT_EQ(utf8_character_length(""), 0u);
  EXPECT_TRUE(is_valid_utf8("aé日𝄞"));
  EXPECT_FALSE(is_valid_utf8("aé\xff"));
  EXPECT_EQ(printable_utf8(std::string("a\0\xffé", 5)), "a\xef\xbf\xbd\xef\xbf\xbdé");
}

// What moves the cursor, changes the terminal, hides text or reverses it is shown as bytes.
TEST(Utf8, MessagesHaveNoCharacterThatATerminalObeys) {
  const auto is_obeyed = [](uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x61C ||
           (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB);
  };
  for (uint32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    const std::string character = encoded(code);
    if (is_obeyed(code))
      ASSERT_EQ(escaped(character).substr(0, 2), "\\x") << code;
    else
      ASSERT_EQ(escaped(character), character) << code;
  }
  EXPECT_EQ(escaped("\x1b[2J\xff"), "\\x1b[2J\\xff");
  EXPECT_EQ(escaped("aéb", 2), "a...") << "no character is split";
  EXPECT_EQ(quoted_value("aéb", 3), "'aé...'");
  EXPECT_EQ(quoted_value("aéb", 4), "'aéb'");
}

TEST(Messages, ListsAndCounts) {
  ShortList list;
  EXPECT_EQ(list.text(), "");
  for (int i = 1; i <= 10; ++i) list.add(std::string(1, static_cast<char>('a' + i)));
  EXPECT_EQ(list.text(), "b, c, d, e, f, g, h, i, j, k");
  list.add("l");
  EXPECT_EQ(list.text(), "b, c, d, e, f, g, h, i, j, k and 1 more");
  EXPECT_EQ(counted(1, "rows"), "1 row");
  EXPECT_EQ(counted(0, "rows"), "0 rows");
  EXPECT_EQ(concat("a", 'b', -1, size_t{2}, 0.5), "ab-120.500000");
}

// Writes down what it receives, and skips what the key "skip" names.
class Recorder final : public JsonHandler {
 public:
  bool value(JsonValue& value) override {
    text += std::string(json_type_name(value.kind)) + ":";
    if (value.kind == JsonKind::kBoolean) text += value.flag ? "true" : "false";
    if (value.kind == JsonKind::kInteger) text += std::to_string(value.integer);
    if (value.kind == JsonKind::kReal) text += value.text.empty() ? json_text(value.number) : value.text;
    if (value.kind == JsonKind::kText) text += value.text;
    text += " ";
    return key_ != "skip";
  }
  void key(std::string& name) override { text += (key_ = name) + "="; }
  void end() override { text += "end "; }
  void malformed(size_t position, bool too_large) override {
    text += "malformed " + std::to_string(position) + (too_large ? " too large" : "");
  }

  std::string text;

 private:
  std::string key_;
};

std::string read(std::string_view json) {
  Recorder recorder;
  const bool is_json = read_json(json, recorder).value();
  return recorder.text + (is_json ? "" : "!");
}

TEST(Json, PassesOnWhatTheHandlerWants) {
  EXPECT_EQ(read("[null,true,false,-7,1.5,\"a\"]"),
            "array: null: boolean:true boolean:false number:-7 number:1.5 string:a end ");
  EXPECT_EQ(read("{\"a\":{\"b\":[]},\"c\":1}"), "object: a=object: b=array: end end c=number:1 end ");
  const std::string everything = "[null,true,2,-3,4.5,18446744073709551615,\"x\",{\"y\":[{}]},[]]";
  EXPECT_EQ(read("{\"skip\":" + everything + ",\"skip\":{\"z\":" + everything + "},\"a\":1}"),
            "object: skip=array: skip=object: a=number:1 end ");
  // Integers that int64_t does not hold are reals that keep their digits.
  EXPECT_EQ(read("9223372036854775807"), "number:9223372036854775807 ");
  EXPECT_EQ(read("18446744073709551615"), "number:18446744073709551615 ");
}

TEST(Json, SaysWhereATextIsNone) {
  EXPECT_EQ(read("[1,]"), "array: number:1 malformed 4!");
  EXPECT_EQ(read(""), "malformed 1!");
  EXPECT_EQ(read("[1e999]"), "array: malformed 6 too large!");
  EXPECT_EQ(read("{\"skip\":[1e999]}"), "object: skip=array: malformed 14!");
  EXPECT_EQ(read(std::string("[1]\0", 4)), "!");
}

TEST(Json, CanBeInterruptedInsideAString) {
  const std::string json = "\"" + std::string(size_t{16} << 20, 'x') + "\"";
  Recorder recorder;
  int asked = 0;
  const auto done = read_json(json, recorder, [&] { return ++asked > 1; });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.status().error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(recorder.text, "");
}

TEST(Json, WritesNumbersAndText) {
  EXPECT_EQ(json_text(0.1), "0.1");
  EXPECT_EQ(json_text(1.0), "1.0");
  EXPECT_EQ(number_text(1.0), "1");
  EXPECT_EQ(number_text(0.95), "0.95");
  EXPECT_EQ(json_text("a\"\n\xff日"), "\"a\\\"\\n\xef\xbf\xbd日\"");
  std::vector<std::string> names;
  for (const JsonKind kind : {JsonKind::kNull, JsonKind::kBoolean, JsonKind::kInteger, JsonKind::kReal,
                              JsonKind::kText, JsonKind::kArray, JsonKind::kObject})
    names.emplace_back(json_type_name(kind));
  EXPECT_EQ(names,
            (std::vector<std::string>{"null", "boolean", "number", "number", "string", "array", "object"}));
}

}  // namespace
}  // namespace glove
