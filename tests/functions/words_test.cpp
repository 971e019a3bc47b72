// glove_words returns the same rows as an ordinary table of the vocabulary, for any query.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "tests/functions/models.h"
#include "tests/loader/random.h"

namespace glove::testing {
namespace {

class Words : public TinyModelTest {
 protected:
  std::string plan(const std::string& sql) {
    const Rows rows = connection.rows("EXPLAIN QUERY PLAN " + sql);
    std::string text;
    for (const Row& row : rows) text += row.back() + "\n";
    return text;
  }
};

TEST_F(Words, HasTheVocabularyInTheFilesOrder) {
  EXPECT_EQ(connection.rows("SELECT id, word, norm FROM glove_words LIMIT 3"),
            (Rows{{"0", "the", "1"}, {"1", "king", "3"}, {"2", "queen", "3.7416573867739413"}}));
  EXPECT_EQ(connection.value("SELECT vector FROM glove_words WHERE word = 'king'"),
            "X'0000803F0000004000000040'");
}

TEST_F(Words, TheModelIsAnInput) {
  connection.rows("SELECT glove_load_table('other', 'SELECT ''cat'', ''[2]''')");
  EXPECT_EQ(connection.rows("SELECT word, model FROM glove_words('other')"), (Rows{{"cat", "other"}}));
  EXPECT_EQ(connection.value("SELECT word FROM glove_words WHERE model = 'other'"), "cat");
  EXPECT_EQ(connection.value("SELECT word FROM glove_words WHERE model IS 'other'"), "cat");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_words WHERE model IN ('other', 'tiny', NULL)"), "9");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_words(NULL)"), "8");
  EXPECT_EQ(
      connection.rows("SELECT m.name, count(*) FROM glove_models m JOIN glove_words w ON w.model = m.name "
                      "GROUP BY 1 ORDER BY 1"),
      (Rows{{"other", "1"}, {"tiny", "8"}}));
  EXPECT_EQ(connection.rows("SELECT model, id, word FROM glove_words WHERE (model = 'tiny' AND id = 0) OR "
                            "(model = 'other' AND id = 0) ORDER BY 1"),
            (Rows{{"other", "0", "cat"}, {"tiny", "0", "the"}}));
}

// If one branch of an OR gives the model, every branch must: SQLite may plan the whole without it.
TEST_F(Words, ABranchOfAnOrThatDoesNotGiveTheModelIsRefused) {
  connection.rows("SELECT glove_load_table('other', 'SELECT ''cat'', ''[2]''')");
  for (const char* condition :
       {"id = 0 OR (id = 0 AND model = 'other')", "(id = 0 AND model = 'other') OR id = 0",
        "word = 'cat' OR (word = 'cat' AND model = 'other' AND id = 0)",
        "id = 0 AND (word = 'the' OR model = 'other')", "id = 0 OR model = 'other'"})
    EXPECT_TRUE(connection.error(std::string("SELECT id, word FROM glove_words WHERE ") + condition)
                    .starts_with("glove_words: SQLite passed no value for the input model, "))
        << condition;
  EXPECT_EQ(connection.rows("SELECT word FROM glove_words WHERE (id = 0 AND model = 'other') OR "
                            "(id = 0 AND model = 'tiny') OR (id = 1 AND model = 'other') ORDER BY 1"),
            (Rows{{"cat"}, {"the"}}));
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_words WHERE model IS NULL"), "8");
}

// GLOB reads U+FFFE, U+FFFF and invalid UTF-8 as U+FFFD, in the pattern and in the word.
TEST_F(Words, CharactersThatGlobTakesForEqual) {
  connection.rows(
      "CREATE TEMP TABLE replaced(word TEXT); INSERT INTO replaced VALUES ('a' || char(65533) || 'x'), "
      "('a' || char(65534) || 'x'), ('a' || char(65535) || 'x'), ('a' || char(65532) || 'x'), ('ax')");
  connection.rows("SELECT glove_load_table('replaced', 'SELECT word, ''[1]'' FROM replaced')");
  for (const char* pattern : {"char(65533) || '*'", "char(65534) || '*'", "char(65535) || 'x'",
                              "char(65532) || '*'", "'[' || char(65534) || ']*'"}) {
    const std::string where = std::string(" WHERE +word GLOB 'a' || ") + pattern + " ORDER BY word";
    const Rows expected = connection.rows("SELECT word FROM replaced" + where);
    EXPECT_FALSE(expected.empty()) << pattern;
    EXPECT_EQ(
        connection.rows(std::string("SELECT word FROM glove_words('replaced') WHERE word GLOB 'a' || ") +
                        pattern + " ORDER BY word"),
        expected)
        << pattern;
  }
}

TEST_F(Words, ErrorsSayHowToWriteIt) {
  EXPECT_EQ(connection.error("SELECT model FROM glove_words"),
            "glove_words: SQLite passed no value for the input model, so it can be neither read nor "
            "compared; give it as an argument or in a condition of its own with =, IS or IN (in an outer "
            "join, in the ON clause). Every branch of an OR must give all inputs itself, even those given "
            "beside the OR; otherwise write SELECT ... FROM glove_words WHERE id = 1 UNION ALL SELECT ... "
            "FROM glove_words WHERE id = 1 AND model = ...");
  EXPECT_EQ(connection.error("SELECT * FROM glove_words('nosuch')"),
            "there is no model 'nosuch'; the loaded models are: 'tiny'");
  EXPECT_EQ(connection.error("SELECT * FROM glove_words(x'00')"),
            "glove_words: the model must be text, not a BLOB; use CAST(... AS TEXT)");
  EXPECT_EQ(
      connection.error("SELECT * FROM glove_words w, json_each(w.word) j WHERE w.model = j.value"),
      "glove_words cannot read its input model: SQLite found no table order in which its value is known "
      "before the scan begins; give it as an argument or in a condition of its own with =, IS or IN (in "
      "an outer join, in the ON clause)");
  EXPECT_EQ(
      connection.error("SELECT count(*) FROM glove_words(NULL) WHERE id>=0 AND id>=0 AND id>=0 AND id>=0 AND "
                       "id>=0 AND id>=0 AND id>=0 AND id>=0 AND id>=0 AND id>=0 AND id>=0 AND id>=0 AND "
                       "id>=0 AND id>=0 AND id>=0 AND id>=0"),
      "glove_words: with this many conditions a NULL model cannot mean the default model; name the model or "
      "omit the condition");
}

TEST_F(Words, AListBehindManyConditionsGivesEachRowOnce) {
  std::string conditions;
  for (int i = 0; i < 40; ++i) conditions += "id >= 0 AND ";
  EXPECT_EQ(connection.rows("SELECT word FROM glove_words WHERE " + conditions +
                            "word IN ('king', 5, 'queen', x'61')"),
            (Rows{{"king"}, {"queen"}}));
}

TEST_F(Words, TheModelMayComeFromAListOfAnotherTablesColumns) {
  connection.rows(
      "SELECT glove_load_table('other', 'SELECT ''cat'', ''[2]''');"
      "CREATE TABLE pair(a, b); INSERT INTO pair VALUES ('other', 'other'), ('tiny', 'other')");
  EXPECT_EQ(connection.rows(
                "SELECT p.rowid, w.word FROM pair p JOIN glove_words w ON w.model IN (p.a, p.b) AND w.id = 0 "
                "ORDER BY 1, 2"),
            (Rows{{"1", "cat"}, {"2", "cat"}, {"2", "the"}}));
}

TEST_F(Words, OrdersItKeepsNeedNoSorting) {
  EXPECT_EQ(plan("SELECT * FROM glove_words ORDER BY id").find("TEMP B-TREE"), std::string::npos);
  EXPECT_EQ(plan("SELECT * FROM glove_words ORDER BY word").find("TEMP B-TREE"), std::string::npos);
  EXPECT_EQ(plan("SELECT * FROM glove_words WHERE word GLOB 'a*' ORDER BY word").find("TEMP B-TREE"),
            std::string::npos);
  EXPECT_NE(plan("SELECT * FROM glove_words ORDER BY word DESC").find("TEMP B-TREE"), std::string::npos);
  EXPECT_NE(plan("SELECT * FROM glove_words ORDER BY word COLLATE NOCASE").find("TEMP B-TREE"),
            std::string::npos);
  EXPECT_NE(plan("SELECT * FROM glove_words ORDER BY norm").find("TEMP B-TREE"), std::string::npos);
}

TEST_F(Words, ALookupIsTheInnerLoopOfAJoin) {
  connection.rows("CREATE TABLE tag(name TEXT)");
  const std::string text = plan("SELECT * FROM tag t JOIN glove_words w ON w.word = t.name");
  EXPECT_LT(text.find("SCAN t"), text.find("SCAN w")) << text;
}

// --- against an ordinary table ---------------------------------------------------------------

// Words that can cause trouble: numbers in several spellings, cases, bytes around every wildcard and around
// the borders of prefixes, an embedded space.
std::vector<std::string> awkward_words(std::mt19937_64& random) {
  std::set<std::string> words = {"5",
                                 "05",
                                 "5.0",
                                 "-5",
                                 "+5",
                                 " 5",
                                 "5e0",
                                 "a",
                                 "A",
                                 "ab",
                                 "aB",
                                 "Ab",
                                 "a b",
                                 "a*",
                                 "a?",
                                 "[a",
                                 "a]",
                                 "]",
                                 "*",
                                 "?",
                                 "%",
                                 "_",
                                 "'",
                                 "\"",
                                 "zz",
                                 "z",
                                 "\x7f",
                                 "\xc3\xa9",
                                 "\xf0\x9f\x98\x80",
                                 "\xff",
                                 "\xc3\xa9\xc3\xa9",
                                 "king",
                                 "King",
                                 "0x10",
                                 "inf",
                                 "nan",
                                 ":",
                                 "9",
                                 "/"};
  constexpr std::string_view kAlphabet = "abAB05*?[z";
  while (words.size() < 150) {
    std::string word;
    for (size_t i = 1 + random() % 4; i > 0; --i) word += kAlphabet[random() % kAlphabet.size()];
    words.insert(word);
  }
  std::vector<std::string> result(words.begin(), words.end());
  std::ranges::shuffle(result, random);
  return result;
}

// GLOB reads bytes that are not valid UTF-8 as U+FFFD, in the pattern and in the word.
TEST_F(Words, GlobOfBytesThatAreNoUtf8) {
  connection.rows("SELECT glove_load(" +
                  sql_text(folder.write("u.txt", "a\xff 1 0\na\xef\xbf\xbd 1 1\nab 1 2\n")) +
                  ", 'u', '{\"invalid_utf8\":\"keep\"}')");
  for (const char* pattern : {"char(97, 65533)", "CAST(x'61ff' AS TEXT)", "CAST(x'61ff2a' AS TEXT)"})
    EXPECT_EQ(connection.rows("SELECT id FROM glove_words('u') WHERE word GLOB " + std::string(pattern) +
                              " ORDER BY id"),
              (Rows{{"0"}, {"1"}}))
        << pattern;
}

class WordsAgainstATable : public ::testing::Test {
 protected:
  static constexpr int kQueries = 400;

  std::mt19937_64 random = random_source();
  std::vector<std::string> words = awkward_words(random);

  template <size_t N>
  std::string one_of(const std::array<const char*, N>& choices) {
    return choices[random() % N];
  }

  std::string word_literal() {
    const std::string word = words[random() % words.size()];
    switch (random() % 5) {
      case 0:
        return sql_text(word.substr(0, 1 + random() % word.size()));
      case 1:
        return sql_text(word + "*");
      default:
        return sql_text(word);
    }
  }

  // Whole characters only, because SQLite does not define what its prefix search finds in half of one.
  std::string glob_prefix() {
    const std::string word = words[random() % words.size()];
    return static_cast<unsigned char>(word[0]) >= 0x80 ? "\xc3\xa9" : word.substr(0, random() % 3);
  }

  std::string any_value() {
    switch (random() % 13) {
      case 0:
        return std::to_string(static_cast<int>(random() % 12) - 3);
      case 1:
        return "NULL";
      case 2:
        return "5.0";
      case 3:
        return "x'61'";
      case 4:
        return "'5'";
      case 5:
        return "'abc'";
      case 6:
        return std::to_string(random() % 200) + ".5";
      case 8:
        return "'\xef\xbf\xbd'";  // what "\xff" becomes where text is UTF-16
      case 7:
        return std::to_string(random() % 200);
      default:
        return word_literal();
    }
  }

  std::string condition() {
    static constexpr std::array kOperators = {"=", "=", "<", "<=", ">", ">=", "IS", "<>"};
    switch (random() % 11) {
      case 0:
        return "word IN (" + any_value() + ", " + any_value() + ", " + any_value() + ")";
      case 1:
        return "word GLOB " + sql_text(glob_prefix() + one_of(std::array{"*", "?", "[a-z]*", "", "*a"}));
      case 2:
        return "word IN (SELECT " + one_of(std::array{"i", "t", "n", "b"}) + " FROM v)";
      case 3:
        return "id IN (SELECT " + one_of(std::array{"i", "t", "n", "b"}) + " FROM v)";
      case 4:
        return "id IN (" + any_value() + ", " + any_value() + ")";
      case 5:
        return "word BETWEEN " + any_value() + " AND " + any_value();
      case 6:
      case 7:
        return "id " + one_of(kOperators) + " " + any_value();
      case 8:
        return "id " + one_of(kOperators) + " " + any_value();
      default:
        return "word " + one_of(kOperators) + " " + any_value();
    }
  }

  // A query over a table, which is written %T.
  std::string query() {
    std::string where = condition();
    for (size_t i = random() % 3; i > 0; --i)
      where += one_of(std::array{" AND ", " AND ", " OR "}) + condition();
    const std::string order =
        one_of(std::array{"id", "word", "word DESC", "norm, id", "word COLLATE NOCASE, id"});
    switch (random() % 4) {
      case 0:
        return "SELECT v.rowid, g.id, g.word FROM v " + one_of(std::array{"", "LEFT "}) + "JOIN %T g ON g." +
               one_of(std::array{"word", "word", "id"}) + one_of(std::array{" = ", " < ", " >= ", " IS "}) +
               "v." + one_of(std::array{"i", "t", "n", "b"}) + " ORDER BY 1, 2";
      case 1:
        return "SELECT count(*), min(word), max(id) FROM %T WHERE " + where;
      case 2:
        return "SELECT id, word, norm, vector FROM %T WHERE " + where + " ORDER BY " + order + " LIMIT " +
               std::to_string(random() % 9) + " OFFSET " + std::to_string(random() % 4);
      default:
        return "SELECT id, word FROM %T WHERE " + where + " ORDER BY " + order;
    }
  }

  static std::string over(std::string sql, const std::string& table) {
    for (size_t at = sql.find("%T"); at != std::string::npos; at = sql.find("%T")) sql.replace(at, 2, table);
    return sql;
  }

  void compare(const char* encoding) {
    GLOVE_TRACE_SEED();
    Connection loader;  // stores UTF-8, so that every byte reaches the model
    unload_all(loader);
    loader.rows("CREATE TABLE source(word TEXT, vector TEXT)");
    for (const std::string& word : words)
      loader.rows("INSERT INTO source VALUES (" + sql_text(word) + ", '[1, " +
                  std::to_string(random() % 100) + "]')");
    loader.rows("SELECT glove_load_table('w', 'SELECT word, vector FROM source')");
    Connection connection;
    connection.rows(std::string("PRAGMA encoding = '") + encoding + "'");
    connection.rows(
        "CREATE TABLE plain(id INTEGER, word TEXT, norm REAL, vector BLOB);"
        "INSERT INTO plain SELECT id, word, norm, vector FROM glove_words;"
        "CREATE TABLE v(i INTEGER, t TEXT, n NUMERIC, b)");
    ASSERT_EQ(connection.value("SELECT count(*) FROM plain"), std::to_string(words.size()));
    for (int i = 0; i < 25; ++i) {
      std::string values;
      for (int column = 0; column < 4; ++column) values += (column > 0 ? ", " : "") + any_value();
      connection.rows("INSERT INTO v VALUES (" + values + ")");
    }
    for (int i = 0; i < kQueries; ++i) {
      const std::string sql = query();
      ASSERT_EQ(connection.rows(over(sql, "glove_words")), connection.rows(over(sql, "plain"))) << sql;
    }
    unload_all(connection);
  }
};

TEST_F(WordsAgainstATable, InAUtf8Database) {
  compare("UTF-8");
}

TEST_F(WordsAgainstATable, InAUtf16Database) {
  compare("UTF-16");
}

}  // namespace
}  // namespace glove::testing
