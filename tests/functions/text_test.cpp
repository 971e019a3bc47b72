// glove_text_vec, glove_tokens and glove_expand.
#include <gtest/gtest.h>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

class Text : public TinyModelTest {};

constexpr const char* kPlain = R"('{"components":0,"weights":"none"}')";

// Returns a call with the tiny model and neither weights nor components.
std::string plain(const std::string& text) {
  return "glove_text_vec(" + text + ", NULL, " + kPlain + ")";
}

TEST_F(Text, IsTheMeanOfTheRawRows) {
  // king (1, 2, 2) and man (2, 1, 0); "of" is unknown.
  EXPECT_EQ(connection.value("SELECT hex(" + plain("'King of man!'") + ")"), "0000C03F0000C03F0000803F");
  EXPECT_EQ(connection.value("SELECT " + plain("'king man'") + " = " + plain("'man, KING'")), "1");
}

TEST_F(Text, WeighsWordsByTheirRank) {
  // the: p = 1 / H_8, king: p = 1 / (2 H_8); a = 0.5.
  connection.rows("CREATE TABLE h AS SELECT 1 + 1/2.0 + 1/3.0 + 1/4.0 + 1/5.0 + 1/6.0 + 1/7.0 + 1/8.0 AS h");
  EXPECT_EQ(connection.value("SELECT sum(abs(weight - 0.5 / (0.5 + 1 / ((id + 1) * h))) < 1e-15) FROM h, "
                             "glove_tokens('the king woman', 'tiny', '{\"a\":0.5}')"),
            "3");
}

TEST_F(Text, RemovesComponents) {
  EXPECT_EQ(connection.value("SELECT glove_text_vec('king') = glove_text_vec('king', 'tiny', "
                             "'{\"components\":5,\"a\":0.0001,\"weights\":\"zipf\",\"lower_case\":true}')"),
            "1");
  EXPECT_EQ(connection.value(
                "SELECT glove_text_vec('king') = glove_text_vec('king', 'tiny', '{\"components\":0}')"),
            "0");
  EXPECT_EQ(connection.value("SELECT length(glove_text_vec('king', NULL, '{\"components\":10}'))"), "12")
      << "a model of 3 dimensions has 2 components to remove";
}

TEST_F(Text, IsNullWithoutAWord) {
  for (const char* text : {"NULL", "''", "'...'", "'nosuchword'", "CAST(x'00ff' AS TEXT)", "'\U0001F600'"})
    EXPECT_EQ(connection.value("SELECT glove_text_vec(" + std::string(text) + ")"), "NULL") << text;
  EXPECT_EQ(connection.value("SELECT " + plain("'zero'")), "NULL");
}

TEST_F(Text, LowerCaseIsAnOption) {
  EXPECT_EQ(connection.value("SELECT hex(" + plain("'Paris'") + ")"), "000000000000804000004040");
  EXPECT_EQ(connection.value("SELECT hex(glove_text_vec('Paris', NULL, "
                             "'{\"components\":0,\"weights\":\"none\",\"lower_case\":false}'))"),
            "000000000000404000008040");
}

TEST_F(Text, TakesTheLongestWordsOfTheModel) {
  connection.rows(
      "SELECT glove_load_table('zh', 'SELECT ''早上'', ''[3,4]'' UNION ALL SELECT ''早'', ''[4,3]''')");
  EXPECT_EQ(connection.value("SELECT cos_sim(glove_text_vec('早上!', 'zh', " + std::string(kPlain) +
                             "), glove_vec('早上', 'zh'))"),
            "1");
  const auto split = [&](const std::string& options) {
    return connection.value(
        "SELECT group_concat(token || coalesce(id, '')) FROM glove_tokens('早上早', 'zh'" + options + ")");
  };
  EXPECT_EQ(split(""), "早上0,早1");
  EXPECT_EQ(split(R"(, '{"longest_match":false}')"), "早1,上,早1");
}

TEST_F(Text, TakesNumbersAsTextAndAModel) {
  connection.rows("SELECT glove_load_table('other', 'SELECT ''7'', ''[2]''')");
  EXPECT_EQ(connection.value("SELECT hex(glove_text_vec(7, 'other', '{\"weights\":\"none\"}'))"), "00000040");
  EXPECT_EQ(connection.value("SELECT group_concat(coalesce(length(glove_text_vec('7 king', m)), '-')) FROM "
                             "(SELECT 'other' AS m UNION ALL SELECT 'tiny' UNION ALL SELECT 'other')"),
            "4,12,4");
}

TEST_F(Text, SeesAnotherModelOfTheSameName) {
  EXPECT_EQ(connection.value("SELECT length(glove_text_vec('king', 'tiny'))"), "12");
  connection.rows("SELECT glove_load_table('tiny', 'SELECT ''king'', ''[1, 2]''')");
  EXPECT_EQ(connection.value("SELECT length(glove_text_vec('king', 'tiny'))"), "8");
}

// Encoders are made once per process for each model and options, not per row.
TEST_F(Text, MakesEachEncoderOnce) {
  connection.rows(
      "SELECT glove_load_table('whole', 'SELECT word, vector FROM glove_words(''tiny'')');"
      "SELECT glove_load_table('shorter', 'SELECT word, substr(vector, 5) FROM glove_words(''tiny'')');"
      "CREATE TABLE doc AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
      " SELECT i, 'the king and the queen ' || i AS body FROM n");
  const auto made = [&](const std::string& model) {
    return connection.value("SELECT count(*) FROM glove_stats WHERE kind = 'text' AND model = '" + model +
                            "'");
  };
  ASSERT_EQ(made("whole"), "0");
  const std::string sql =
      "SELECT count(DISTINCT glove_text_vec(body, 'whole')), count(DISTINCT glove_text_vec(body, "
      "'shorter')), "
      "count(DISTINCT glove_text_vec(body, 'whole', '{\"components\":0}')), "
      "count(DISTINCT glove_text_vec(body, iif(i % 2, 'shorter', 'whole'), '{\"a\":0.5}')) FROM doc";
  for (int time = 1; time <= 2; ++time) {
    EXPECT_EQ(connection.rows(sql), (Rows{{"1", "1", "1", "2"}}));
    EXPECT_EQ(made("whole"), "3") << time;
    EXPECT_EQ(made("shorter"), "2") << time;
  }
  Connection second;
  EXPECT_EQ(second.rows(sql.substr(0, sql.find("FROM doc")) +
                        "FROM (SELECT 1 AS i, 'the king' AS body UNION ALL SELECT 2, 'the king')"),
            (Rows{{"1", "1", "1", "2"}}));
  EXPECT_EQ(made("whole"), "3") << "connections share them";
}

TEST_F(Text, LongTexts) {
  EXPECT_EQ(connection.value("SELECT " + plain("replace(hex(zeroblob(50000)), '00', 'king ')") + " = " +
                             plain("'king'")),
            "1");
  EXPECT_EQ(
      connection.value("SELECT length(glove_text_vec(replace(hex(zeroblob(1000000)), '00', 'a king.')))"),
      "12");
  EXPECT_EQ(connection.value("SELECT glove_text_vec(hex(zeroblob(5000000)))"), "NULL");
}

TEST_F(Text, IsDeterministic) {
  connection.rows("CREATE TABLE doc(body TEXT, v AS (glove_text_vec(body)) STORED)");
  connection.rows("INSERT INTO doc VALUES ('the king'); CREATE INDEX by_vector ON doc(glove_text_vec(body))");
  EXPECT_EQ(connection.value("SELECT v = glove_text_vec('the king') FROM doc"), "1");
}

TEST_F(Text, Errors) {
  EXPECT_EQ(connection.error("SELECT glove_text_vec(x'00')"),
            "glove_text_vec: the text must be text, not a BLOB; use CAST(... AS TEXT)");
  EXPECT_EQ(connection.error("SELECT glove_text_vec('a', 'nosuch')"),
            "there is no model 'nosuch'; the loaded models are: 'tiny'");
  EXPECT_NE(connection.error("SELECT glove_text_vec('a', NULL, '{}' || char(0) || 'x')")
                .find("must be a JSON object"),
            std::string::npos);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"x", "the options must be a JSON object such as {\"components\":0}, but are: x"},
      {"[]", "the options must be a JSON object such as {\"components\":0}, but are: []"},
      {R"({"b":1})",
       "unknown option \"b\"; the options are: a, components, weights, lower_case, longest_match, method"},
      {R"({"a":0})", "option \"a\" is 0, but must be a number above 0"},
      {R"({"a":"1"})", "option \"a\" is \"1\", but must be a number above 0"},
      {R"({"components":11})", "option \"components\" is 11, but must be an integer from 0 to 10"},
      {R"({"components":-1})", "option \"components\" is -1, but must be an integer from 0 to 10"},
      {R"({"components":18446744073709551615})",
       "option \"components\" is 18446744073709551615, but must be an integer from 0 to 10"},
      {R"({"components":1.5})", "option \"components\" is 1.5, but must be an integer from 0 to 10"},
      {R"({"weights":"tfidf"})",
       "option \"weights\" is \"tfidf\", but must be \"zipf\", \"none\" or \"model\""},
      {R"({"lower_case":1})", "option \"lower_case\" is 1, but must be true or false"},
      {R"({"longest_match":"a"})", "option \"longest_match\" is \"a\", but must be true or false"},
  };
  for (const auto& [options, message] : cases) {
    EXPECT_EQ(connection.error("SELECT glove_text_vec('king', NULL, " + sql_text(options) + ")"),
              "glove_text_vec: " + message);
    EXPECT_EQ(connection.error("SELECT * FROM glove_tokens('king', NULL, " + sql_text(options) + ")"),
              "glove_tokens: " + message);
  }
}

TEST_F(Text, TokensTellWhyAVectorIsWhatItIs) {
  EXPECT_EQ(
      connection.rows("SELECT position, token, id, weight FROM glove_tokens('The King isn''t here', NULL, "
                      "'{\"weights\":\"none\"}')"),
      (Rows{{"1", "the", "0", "1"},
            {"2", "king", "1", "1"},
            {"3", "is", "NULL", "NULL"},
            {"4", "n't", "NULL", "NULL"},
            {"5", "here", "NULL", "NULL"}}));
  EXPECT_EQ(connection.rows("SELECT * FROM glove_tokens(NULL)"), Rows{});
  EXPECT_EQ(connection.rows("SELECT * FROM glove_tokens('')"), Rows{});
  EXPECT_EQ(
      connection.value("SELECT count(*) FROM glove_tokens(replace(hex(zeroblob(100000)), '00', 'king '))"),
      "100000");
}

TEST_F(Text, TokensInJoins) {
  connection.rows(
      "CREATE TABLE doc(id INTEGER PRIMARY KEY, body TEXT);"
      "INSERT INTO doc VALUES (1, 'the king'), (2, NULL), (3, 'a queen'), (4, 'the king')");
  EXPECT_EQ(
      connection.value(
          "SELECT group_concat(d.id || ':' || t.token) FROM doc d JOIN glove_tokens t ON t.text = d.body"),
      "1:the,1:king,3:a,3:queen,4:the,4:king");
  EXPECT_EQ(
      connection.value(
          "SELECT group_concat(text || '/' || token) FROM glove_tokens WHERE text IN ('a b', 'a', 'a b')"),
      "a/a,a b/a,a b/b");
  EXPECT_EQ(connection.value(
                "SELECT count(*) FROM glove_tokens WHERE text = 'a b' AND token = 'b' OR text = 'a c' AND "
                "position = 2"),
            "2");
  EXPECT_EQ(connection.value("SELECT count(DISTINCT rowid) FROM glove_tokens WHERE text IN ('a b', 'c d e')"),
            "5");
  EXPECT_NE(connection.error("SELECT * FROM glove_tokens").find("text"), std::string::npos);
}

// (w king + w' man) / 2 with w = 0.5 / (0.5 + 6/8) = 0.4 and w' = 0.5 / (0.5 + 2/8) = 2/3: counted in
// decimals.
constexpr const char* kCounted =
    "SELECT group_concat(token || ' ' || round(weight, 4)) FROM glove_tokens('king queen man', 'counted', "
    "'{\"weights\":\"model\",\"a\":0.5}')";

TEST_F(Text, FrequenciesFromATable) {
  connection.rows(
      "CREATE TABLE w(word, vector, count); INSERT INTO w VALUES ('king', '[1,2]', 6), ('queen', '[2,1]', "
      "0), "
      "('king', '[9,9]', 99), ('man', '[0,1]', 2.0); SELECT glove_load_table('counted', 'SELECT * FROM w')");
  EXPECT_EQ(connection.value(kCounted), "king 0.4,queen 1.0,man 0.6667");
  EXPECT_EQ(connection.value("SELECT length(glove_text_vec('king', 'counted', '{\"weights\":\"model\"}'))"),
            "8");
  for (const auto& [count, shown] :
       {std::pair("NULL", "NULL"), {"''6''", "'6'"}, {"-1", "-1"}, {"9e999", "Inf"}, {"x''00''", "a BLOB"}})
    EXPECT_EQ(connection.error("SELECT glove_load_table('bad', 'SELECT ''a'', ''[1]'', " +
                               std::string(count) + "')"),
              "glove_load_table('bad'): row 1 has the frequency " + std::string(shown) +
                  ", but a frequency must be a finite number of at least 0");
  EXPECT_EQ(connection.error("SELECT glove_load_table('bad', 'SELECT ''a'', ''[1]'', 0')"),
            "glove_load_table('bad'): the frequencies must have a finite sum above 0");
  EXPECT_NE(connection.error("SELECT glove_text_vec('king', 'tiny', '{\"weights\":\"model\"}')")
                .find("has no frequencies"),
            std::string::npos);
}

TEST_F(Text, FrequenciesAreSavedAndDerived) {
  const std::string file = sql_text(folder.path("counted.safetensors"));
  connection.rows(
      "SELECT glove_load_table('counted', 'SELECT word, vector, id + 0.5 FROM glove_words(''tiny'')');"
      "SELECT glove_save('counted', " +
      file + "), glove_load(" + file +
      ", 'saved');"
      "SELECT glove_derive('derived', '{\"words\":[\"queen\",\"paris\"]}', 'saved')");
  const auto weights = [&](const std::string& text, const std::string& model) {
    return connection.value("SELECT group_concat(weight) FROM glove_tokens('" + text + "', '" + model +
                            "', '{\"weights\":\"model\",\"a\":0.5}')");
  };
  EXPECT_EQ(weights("the queen and the king", "saved"), weights("the queen and the king", "counted"));
  // Of 2.5 + 7.5 = 10.
  EXPECT_EQ(weights("queen paris", "derived").substr(0, 8), "0.666666");
}

TEST_F(Text, FrequenciesFromAFile) {
  const auto load = [&](const std::string& content) {
    return "SELECT glove_load(" + sql_text(folder.path("tiny.txt")) +
           ", 'counted', json_object('frequencies', " + sql_text(folder.write("counts.txt", content)) + "))";
  };
  connection.rows(load("nosuchword 7\nking 6\r\nman\t2 \n\nking 1e0"));
  EXPECT_EQ(connection.value(kCounted), "king 0.4,queen 1.0,man 0.6667");
  EXPECT_EQ(connection.value("SELECT neighbor FROM glove_nn('king', NULL, 1, 'counted')"), "queen");
  for (const auto& [content, line] :
       {std::pair("king", 1), {"king 1\nqueen x", 2}, {"king -1", 1}, {"\n\nking nan", 3}, {" 4", 1}})
    EXPECT_NE(connection.error(load(content)).find("line " + std::to_string(line) + ": '"), std::string::npos)
        << content;
  EXPECT_NE(connection.error(load("king 0")).find("must have a finite sum above 0"), std::string::npos);
  EXPECT_NE(connection.error(load("king 1e308\nman 1e308")).find("must have a finite sum above 0"),
            std::string::npos);
  EXPECT_NE(connection.error("SELECT glove_load('f', 'g', '{\"frequencies\":1}')")
                .find("option \"frequencies\" is 1, but must be the path of a file of words and counts"),
            std::string::npos);
}

TEST_F(Text, ExpandsAWord) {
  EXPECT_EQ(connection.value("SELECT glove_expand('king', 2)"), R"("king" OR "queen" OR "Paris")");
  EXPECT_EQ(connection.value("SELECT glove_expand('King', 1)"), R"("King" OR "queen")");
  EXPECT_EQ(connection.value("SELECT glove_expand('king', 0)"), R"("king")");
  EXPECT_EQ(connection.value("SELECT glove_expand('king', 100, 0.97)"), R"("king" OR "queen")");
  EXPECT_EQ(connection.value("SELECT glove_expand('king', 1, NULL, 'tiny')"), R"("king" OR "queen")");
  EXPECT_EQ(connection.value(R"(SELECT glove_expand('a "b" OR *', 5))"), R"("a ""b"" OR *")");
  EXPECT_EQ(connection.value("SELECT glove_expand(NULL, 5)"), "NULL");
  EXPECT_EQ(connection.value("SELECT glove_expand(7, 5)"), R"("7")");
  EXPECT_EQ(connection.value("SELECT glove_expand(CAST(x'610062' AS TEXT), 5)"), R"("a b")");
  EXPECT_EQ(
      connection.value("SELECT glove_expand('man', 10, 0.5) = (SELECT '\"man\"' || group_concat(' OR \"' || "
                       "neighbor || '\"', '') FROM glove_nn('man') WHERE similarity >= 0.5)"),
      "1");
}

TEST_F(Text, ExpansionIsAlwaysAQueryOfFts5) {
  connection.rows(
      "CREATE VIRTUAL TABLE page USING fts5(body); INSERT INTO page VALUES ('the king'), ('a man')");
  connection.rows(
      "CREATE TABLE odd(word, vector); INSERT INTO odd VALUES ('\"', '[1,0]'), ('NEAR(a)', '[1,1]'), "
      "('''', '[2,1]'), ('king', '[1,2]'), ('a b* ^c: -d', '[3,2]');"
      "SELECT glove_load_table('odd', 'SELECT * FROM odd')");
  for (const std::string word : {"king", "\"", "", "NEAR(a)", "a b* ^c: -d", "\"\"\"", "x' OR '"})
    EXPECT_EQ(connection.value("SELECT count(*) >= 0 FROM page WHERE page MATCH glove_expand(" +
                               sql_text(word) + ", 9, NULL, 'odd')"),
              "1")
        << word;
  EXPECT_EQ(connection.value(
                "SELECT group_concat(body) FROM page WHERE page MATCH glove_expand('\"', 9, NULL, 'odd')"),
            "the king");
}

TEST_F(Text, ExpansionErrors) {
  EXPECT_EQ(connection.error("SELECT glove_expand('king', -1)"),
            "glove_expand: k must be a non-negative integer, but is -1");
  EXPECT_EQ(connection.error("SELECT glove_expand('king', NULL)"),
            "glove_expand: k must be a non-negative integer, but is NULL");
  EXPECT_EQ(connection.error("SELECT glove_expand('king', 2, 'near')"),
            "glove_expand: min_similarity must be a number, but is 'near'");
  EXPECT_EQ(connection.error("SELECT glove_expand(x'00', 2)"),
            "glove_expand: the word must be text, not a BLOB; use CAST(... AS TEXT)");
}

}  // namespace
}  // namespace glove::testing
