// glove_vec and glove_oov.
#include <gtest/gtest.h>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

class VectorFunctions : public TinyModelTest {};

TEST_F(VectorFunctions, VecIsLittleEndianFloat32) {
  // 'the' is (1, 0, 0); king is (1, 2, 2) / 3.
  EXPECT_EQ(connection.value("SELECT glove_vec('the')"), "X'0000803F0000000000000000'");
  EXPECT_EQ(connection.value("SELECT glove_vec('king')"), "X'ABAAAA3EABAA2A3FABAA2A3F'");
  EXPECT_EQ(connection.value("SELECT typeof(glove_vec('king - man + woman'))"), "blob");
  EXPECT_EQ(connection.value("SELECT glove_vec('king man -') = glove_vec('king - man')"), "1");
  EXPECT_EQ(connection.value("SELECT glove_vec('2 * (king - man)') = glove_vec('2 * king - 2 * man')"), "1");
}

TEST_F(VectorFunctions, VecIsNullForNullUnknownWordsAndZeroVectors) {
  for (const char* argument : {"NULL", "'king - nosuchword'", "'king - king'", "'zero'"})
    EXPECT_EQ(connection.value("SELECT glove_vec(" + std::string(argument) + ")"), "NULL") << argument;
}

TEST_F(VectorFunctions, OovIsAJsonArrayInTextOrderEachWordOnce) {
  EXPECT_EQ(connection.value("SELECT glove_oov('king - man')"), "[]");
  EXPECT_EQ(connection.value("SELECT glove_oov('xx - king + \"a \"\"b\"\"\" + xx + yy')"),
            R"(["xx","a \"b\"","yy"])");
  EXPECT_EQ(connection.value("SELECT glove_oov('KING + pARIS')"), "[]");
  EXPECT_EQ(connection.value("SELECT glove_oov(NULL)"), "NULL");
  EXPECT_EQ(connection.rows("SELECT value FROM json_each(glove_oov('xx + yy'))"), (Rows{{"xx"}, {"yy"}}));
  EXPECT_EQ(connection.value("SELECT json_object('missing', glove_oov('xx'))"), R"({"missing":["xx"]})")
      << "the result is JSON, not a string";
}

TEST_F(VectorFunctions, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(connection.value("SELECT hex(glove_oov(CAST(x'ff' AS TEXT)))"), "5B22EFBFBD225D");
}

TEST_F(VectorFunctions, TakeAModel) {
  connection.rows("SELECT glove_load_table('other', 'SELECT ''cat'', ''[2]''')");
  EXPECT_EQ(connection.value("SELECT glove_vec('cat', 'other')"), "X'0000803F'");
  EXPECT_EQ(connection.value("SELECT glove_oov('cat + king', 'other')"), R"(["king"])");
  EXPECT_EQ(connection.value("SELECT glove_oov('cat + king')"), R"(["cat"])");
}

TEST_F(VectorFunctions, Errors) {
  for (const std::string function : {"glove_vec", "glove_oov"}) {
    EXPECT_EQ(connection.error("SELECT " + function + "(x'00')"),
              function + ": the expression must be text, not a BLOB; use CAST(... AS TEXT)");
    EXPECT_EQ(connection.error("SELECT " + function + "('king', 'nosuch')"),
              "there is no model 'nosuch'; the loaded models are: 'tiny'");
    EXPECT_EQ(connection.error("SELECT " + function + "()"),
              "wrong number of arguments to function " + function + "()");
    EXPECT_NE(connection.error("SELECT " + function + "('king -  - man')").find("king -  - man"),
              std::string::npos);
    EXPECT_NE(connection.error("SELECT " + function + "('')").find("expression '': it is empty"),
              std::string::npos);
    EXPECT_NE(connection.error("SELECT " + function + "(12)").find("the number '12' at byte 1"),
              std::string::npos);
  }
}

// Host languages decode messages, and some fail if a message is not valid UTF-8.
TEST_F(VectorFunctions, MessagesAreUtf8WhateverTheyName) {
  EXPECT_NE(connection.error("SELECT glove_vec('\"king\"é')").find("is followed by 'é'; write white space"),
            std::string::npos);
  std::string word = "x";
  for (int i = 0; i < 200; ++i) word += "ж";
  std::string shown = "x";
  for (int i = 0; i < 99; ++i) shown += "ж";
  EXPECT_TRUE(
      connection.error("SELECT glove_vec('" + word + " -')").starts_with("expression '" + shown + "...': "));
  EXPECT_TRUE(connection.error("SELECT glove_vec('(" + word + " king')").ends_with("\"new york\""));
  EXPECT_EQ(connection.error("SELECT glove_vec('king', CAST(x'61ff' AS TEXT))"),
            "there is no model 'a\xef\xbf\xbd'; the loaded models are: 'tiny'");
  EXPECT_EQ(connection.error("SELECT neighbor FROM glove_nn('king', NULL, 1, CAST(x'61ff0062' AS TEXT))"),
            "there is no model 'a\xef\xbf\xbd\xef\xbf\xbd"
            "b'; the loaded models are: 'tiny'");
  EXPECT_LT(connection
                .error("SELECT glove_vec('1e40 * king + ' || replace(hex(zeroblob(50000)), '00', '0 * man + "
                       "') || 'man')")
                .size(),
            400U);
}

// Quadratic work would take minutes.
TEST_F(VectorFunctions, OovOfVeryManyWords) {
  EXPECT_EQ(
      connection.value("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 300000) "
                       "SELECT json_array_length(glove_oov((SELECT group_concat('w' || x, ' + ') FROM c)))"),
      "300000");
}

}  // namespace
}  // namespace glove::testing
