// Vectors that are given as JSON arrays.
#include <gtest/gtest.h>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

class JsonVectors : public TinyModelTest {
 protected:
  void SetUp() override {
    TinyModelTest::SetUp();
    // A model whose words are arrays, which are vectors nevertheless.
    connection.rows(
        "SELECT glove_load_table('arrays', 'VALUES (''[1,2,3]'', ''[0,0,1]''), (''[x]'', ''[0,1,0]''), "
        "(''[1,true]'', ''[1,0,0]'')')");
  }
};

constexpr const char* kQueen = "x'0000803f0000004000004040'";  // (1, 2, 3)

TEST_F(JsonVectors, AreVectorsForEveryFunction) {
  for (const std::string array :
       {"'[1,2,3]'", "' [ 1.0 , 2e0,\n3 ]\t'", "char(0xfeff) || '[1,2,3]'", "json_array(1, 2, 3)"}) {
    EXPECT_EQ(connection.value("SELECT cos_sim(" + array + ", 'king') = cos_sim('queen', 'king')"), "1")
        << array;
    EXPECT_EQ(connection.value("SELECT cos_sim('king', " + array + ", 'tiny') = cos_sim('queen', 'king')"),
              "1");
    EXPECT_EQ(connection.value("SELECT cos_sim(" + array + ", " + kQueen + ")"), "1");
    EXPECT_EQ(connection.value("SELECT cos_sim(" + array + ", '[1,2,3]', 'arrays')"), "1");
    for (const std::string function : {"glove_vec", "glove_mean"})
      EXPECT_EQ(connection.value("SELECT " + function + "(" + array + ")"), "X'0000803F0000004000004040'")
          << array;
    EXPECT_EQ(connection.value("SELECT glove_oov(" + array + ")"), "[]");
  }
  connection.rows("SELECT glove_derive('twice', '{\"center\":true}')");
  EXPECT_EQ(connection.value(std::string("SELECT glove_project('[1,2,3]', 'twice') = glove_project(") +
                             kQueen + ", 'twice')"),
            "1");
  EXPECT_EQ(connection.value(std::string("SELECT glove_atax('[1,2,3]') = glove_atax(") + kQueen + ")"), "1");
  EXPECT_EQ(connection.rows(
                "SELECT cos_sim(x, 'king') = cos_sim(y, 'king') FROM (SELECT '[1,2,3]' AS x, 'queen' AS y "
                "UNION ALL SELECT 'man', '[2,1,0]' UNION ALL SELECT '[0,3,4]', 'Paris')"),
            (Rows{{"1"}, {"1"}, {"1"}}));
}

TEST_F(JsonVectors, AreQueriesOfGloveNn) {
  const std::string columns = "SELECT neighbor, similarity, rank FROM glove_nn WHERE expr ";
  const Rows expected = connection.rows(columns + "= " + kQueen);
  EXPECT_EQ(expected.size(), 7U);
  EXPECT_EQ(connection.rows(columns + "= '[1,2,3]'"), expected);
  EXPECT_EQ(connection.rows(columns + "IN ('[1,2,3]', 'nosuchword') AND k = 10"), expected);
  EXPECT_EQ(connection.rows("SELECT neighbor, similarity, rank FROM glove_nn(NULL, '[1,2,3]')"), expected);
  EXPECT_EQ(connection.rows("SELECT expr FROM glove_nn WHERE expr = '[1, 2,3]' AND k = 1"),
            (Rows{{"[1, 2,3]"}}));
  EXPECT_EQ(connection.value("SELECT kind FROM glove_stats LIMIT 1"), "vector");
  EXPECT_EQ(
      connection.rows("SELECT neighbor FROM glove_nn WHERE expr = '[1,2,3]' AND model = 'arrays' AND k = 1"),
      (Rows{{"[1,2,3]"}}));
  EXPECT_EQ(connection.rows("SELECT count(*) FROM glove_nn WHERE expr = '[0,0,0]'"), (Rows{{"0"}}));
}

TEST_F(JsonVectors, OtherTextStaysAWord) {
  EXPECT_EQ(
      connection.rows("SELECT neighbor FROM glove_nn('[1,2,3]', NULL, NULL, 'arrays') ORDER BY neighbor"),
      (Rows{{"[1,true]"}, {"[x]"}}))
      << "word is never parsed";
  EXPECT_EQ(connection.rows(
                "SELECT neighbor FROM glove_nn WHERE expr = '\"[1,2,3]\"' AND model = 'arrays' AND k = 5 "
                "ORDER BY neighbor"),
            (Rows{{"[1,true]"}, {"[x]"}}))
      << "a quoted word of an expression";
  for (const std::string word : {"[x]", "[1,true]"}) {
    EXPECT_EQ(connection.value("SELECT cos_sim('" + word + "', '" + word + "', 'arrays')"), "1") << word;
    EXPECT_EQ(connection.value("SELECT glove_vec('" + word + "', 'arrays') IS NULL"), "0") << word;
    EXPECT_EQ(connection.value("SELECT glove_oov('" + word + "')"),
              word == "[x]" ? R"(["[x]"])" : R"(["[1,true]"])");
  }
  for (const char* word :
       {"[", "[]x", "[1,2", "[1,,2]", "[01,2,3]", "[NaN]", "[[1,2,3]]", "{\"a\":[1]}", "1", "\"[1]\""})
    EXPECT_EQ(connection.value("SELECT cos_sim(" + sql_text(word) + ", 'king')"), "NULL") << word;
  EXPECT_EQ(connection.error("SELECT glove_project('[x]', 'tiny')"),
            "glove_project: the vector must be a BLOB of float32, such as glove_vec returns, or a JSON array "
            "of numbers");
}

TEST_F(JsonVectors, WrongLengthsAndNumbersAreErrors) {
  const std::string dims = "the vector has 2 components, but the model has 3 dimensions";
  EXPECT_EQ(connection.error("SELECT * FROM glove_nn WHERE expr = '[1,2]'"), dims);
  EXPECT_EQ(connection.error("SELECT * FROM glove_nn WHERE expr IN ('[1,2]', 'king') AND k = 1"), dims);
  EXPECT_EQ(connection.error("SELECT * FROM glove_nn WHERE expr = '[]'"),
            "the vector has 0 components, but the model has 3 dimensions");
  for (const std::string function : {"glove_vec", "glove_oov"})
    EXPECT_EQ(connection.error("SELECT " + function + "('[1,2]')"), dims);
  EXPECT_EQ(connection.error("SELECT cos_sim('[1,2]', 'king')"),
            "cos_sim: the arguments must have the same number of components, but have 2 and 3");
  EXPECT_EQ(connection.error("SELECT glove_mean('[]')"),
            "glove_mean: x is an empty JSON array; a vector has at least one component");
  for (const std::string number : {"1e39", "-1e39", "1e999"}) {
    const std::string array = "'[0," + number + ",0]'";
    const std::string rest = " is infinite; every component must be finite";
    EXPECT_EQ(connection.error("SELECT * FROM glove_nn WHERE expr = " + array),
              "component 2 of the vector" + rest);
    EXPECT_EQ(connection.error("SELECT glove_vec(" + array + ")"), "component 2 of the vector" + rest);
    EXPECT_EQ(connection.error("SELECT glove_mean(" + array + ")"), "glove_mean: component 2 of x" + rest);
    EXPECT_EQ(connection.error("SELECT cos_sim('king', " + array + ")"),
              "cos_sim: component 2 of the second argument" + rest);
  }
  EXPECT_EQ(connection.error("SELECT * FROM glove_nn('king', '[1,2,3]')"),
            "glove_nn: word and expr are both given, but expr is a JSON array, which is a complete query; "
            "omit word: "
            "WHERE expr = ? AND k = 10");
}

TEST(JsonVectorsWithoutModels, TwoNeedNone) {
  Connection connection;
  unload_all(connection);
  EXPECT_EQ(connection.value("SELECT cos_sim('[3,4]', '[4,3]')"), "0.95999999999999996");
  EXPECT_EQ(connection.value("SELECT cos_sim('[3,4]', x'0000804000004040')"), "0.95999999999999996");
  EXPECT_EQ(connection.value("SELECT glove_mean(v) FROM (SELECT '[1]' AS v UNION ALL SELECT '[3]')"),
            "X'00000040'");
  EXPECT_EQ(connection.error("SELECT cos_sim('[3,4]', 'king')"),
            "no model is loaded; load one with SELECT glove_load('FILE') or set GLOVE_MODEL=FILE");
}

}  // namespace
}  // namespace glove::testing
