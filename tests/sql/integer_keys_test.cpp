// Models whose keys are INTEGER: a table's primary key is the word.

#include "tests/loader/random.h"
#include "tests/sql/nn_test.h"

namespace glove::testing {
namespace {

constexpr const char* kLeast = "-9223372036854775808";
constexpr const char* kMost = "9223372036854775807";

// A table of items, and its model 'items', in which the nearest key to each from 1 on is the next one.
class IntegerKeys : public ::testing::Test {
 protected:
  void SetUp() override {
    unload_all(db);
    db.rows("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, vector TEXT)");
    db.rows("INSERT INTO item VALUES (1, 'one', '[1, 0]'), (5, 'five', '[5, 1]'), (10, 'ten', '[5, 2]'), (" +
            std::string(kMost) + ", 'most', '[5, 3]'), (" + kLeast + ", 'least', '[5, 4]')");
    // In the order of rowids the smallest key would come first.
    db.rows("SELECT glove_load_table('items', 'SELECT id, vector FROM item ORDER BY vector')");
  }
  void TearDown() override { unload_all(db); }

  // Marks the statistics with a search on another connection, because db may have cached the answer.
  static void mark() { Connection().rows("SELECT * FROM glove_nn(10, NULL, 3)"); }

  std::string plan(const std::string& sql) {
    std::string text;
    for (const Row& row : db.rows("EXPLAIN QUERY PLAN " + sql)) text += row[3] + "\n";
    return text;
  }

  Connection db;
};

TEST_F(IntegerKeys, 01_NeighborsAreIntegers) {
  EXPECT_EQ(
      db.rows("SELECT neighbor, typeof(neighbor), rank FROM glove_nn(1)"),
      (Rows{
          {"5", "integer", "1"}, {"10", "integer", "2"}, {kMost, "integer", "3"}, {kLeast, "integer", "4"}}));
  EXPECT_EQ(db.value("SELECT sum(neighbor) FROM glove_nn(1, NULL, 2)"), "15");
}

TEST_F(IntegerKeys, 02_AWordIsAnIntegerOrItsCanonicalText) {
  for (const char* word : {"5", "'5'", "CAST(5 AS NUMERIC)", "(SELECT id FROM item WHERE name = 'five')"})
    EXPECT_EQ(
        db.rows(std::string("SELECT neighbor, word, typeof(word) FROM glove_nn WHERE k = 1 AND word = ") +
                word),
        (Rows{{"10", "5", "text"}}))
        << word;
  for (const char* word : {"'05'", "'+5'", "' 5'", "'5 '", "'5.0'", "5.0", "5.5", "'-0'", "''", "2", "'five'",
                           "9223372036854775808", "'9223372036854775808'"})
    EXPECT_EQ(db.rows(std::string("SELECT * FROM glove_nn WHERE word = ") + word), Rows()) << word;
  EXPECT_EQ(db.value(std::string("SELECT neighbor FROM glove_nn(") + kLeast + ", NULL, 1)"), kMost);
  EXPECT_EQ(db.value(std::string("SELECT neighbor FROM glove_nn('") + kMost + "', NULL, 1)"), kLeast);
}

TEST_F(IntegerKeys, 03_ConditionsOnNeighbor) {
  const std::string of_five = "SELECT rank FROM glove_nn(1) WHERE neighbor ";
  for (const char* condition : {"= 5", "= '5'", "IS 5", "IN (5)", "IN ('5', 1)",
                                "IN (SELECT id FROM item WHERE name = 'five')", "= CAST('5' AS NUMERIC)"})
    EXPECT_EQ(db.rows(of_five + condition), (Rows{{"1"}})) << condition;
  for (const char* condition : {"= '05'", "= '+5'", "= ' 5'", "= '5.0'", "= x'35'", "IN ('05', '+5')", "= 1",
                                "= 2", "= 'five'", "= NULL", "= 9223372036854775808"})
    EXPECT_EQ(db.rows(of_five + condition), Rows()) << condition;
  EXPECT_EQ(db.rows(of_five + "= " + kMost), (Rows{{"3"}}));
  // A TEXT column is compared as it is stored.
  db.rows("CREATE TEMP TABLE texts(id TEXT); INSERT INTO texts VALUES ('5')");
  EXPECT_EQ(db.rows(of_five + "IN (SELECT id FROM texts)"), Rows());
  EXPECT_EQ(db.rows("SELECT rank FROM texts CROSS JOIN glove_nn(1) ON neighbor = texts.id"), Rows());
  EXPECT_EQ(db.rows(of_five + "IN (SELECT CAST(id AS INTEGER) FROM texts)"), (Rows{{"1"}}));
  // A REAL column is compared as numbers. The REAL 5.0 itself equals 5 or nothing: SQLite's versions differ.
  EXPECT_EQ(db.rows("SELECT rank FROM (SELECT CAST(5 AS REAL) AS x) CROSS JOIN glove_nn(1) ON neighbor = x"),
            (Rows{{"1"}}));
  EXPECT_EQ(db.rows(of_five + "= '" + kLeast + "'"), (Rows{{"4"}}));
  EXPECT_EQ(db.rows(of_five + "IN (" + kLeast + ", " + kMost + ", 2) ORDER BY rank"), (Rows{{"3"}, {"4"}}));
}

// A condition with an integer scores the one row and scans nothing.
TEST_F(IntegerKeys, 04_ConditionsOnNeighborArePushedDown) {
  if (sqlite3_libversion_number() < 3038000) GTEST_SKIP() << "SQLite before 3.38 pushes no neighbor down";
  for (const char* condition : {"= 5", "= '5'", "IN (5, 10)", "IN (SELECT id FROM item)"}) {
    mark();
    db.rows(std::string("SELECT similarity FROM glove_nn(1) WHERE neighbor ") + condition);
    EXPECT_EQ(searches_since(db, "3"), (Rows{{"words", "1"}})) << condition;
  }
  mark();
  db.rows(
      "SELECT i.name, n.similarity FROM item i CROSS JOIN glove_nn(1) n ON n.neighbor = i.id WHERE i.id = 5");
  EXPECT_EQ(searches_since(db, "3"), (Rows{{"words", "1"}}));
}

TEST_F(IntegerKeys, 05_NeighborsJoinedToTheirTable) {
  const std::string sql =
      "SELECT i.name FROM glove_nn(1) n JOIN item i ON i.id = n.neighbor ORDER BY n.rank LIMIT 3";
  EXPECT_EQ(db.rows(sql), (Rows{{"five"}, {"ten"}, {"most"}}));
  EXPECT_EQ(plan(sql), "SCAN n VIRTUAL TABLE INDEX 2:word=\nSEARCH i USING INTEGER PRIMARY KEY (rowid=?)\n");
}

TEST_F(IntegerKeys, 06_RowsJoinedToTheirNeighbors) {
  const std::string sql =
      "SELECT i.name, j.name FROM item i JOIN glove_nn n ON n.word = i.id AND n.k = 1 JOIN item j ON j.id = "
      "n.neighbor WHERE i.id IN (5, 10) ORDER BY i.id";
  EXPECT_EQ(db.rows(sql), (Rows{{"five", "ten"}, {"ten", "most"}}));
  EXPECT_EQ(plan(sql),
            "SEARCH i USING INTEGER PRIMARY KEY (rowid=?)\nSCAN n VIRTUAL TABLE INDEX 0:word= k=\n"
            "SEARCH j USING INTEGER PRIMARY KEY (rowid=?)\n");
}

TEST_F(IntegerKeys, 07_ABatchJoinedBack) {
  const std::string sql =
      "SELECT i.name, n.neighbor FROM glove_nn n JOIN item i ON i.id = n.word WHERE n.word IN (SELECT id "
      "FROM item) "
      "AND n.k = 1 ORDER BY i.name";
  EXPECT_EQ(db.rows(sql),
            (Rows{{"five", "10"}, {"least", kMost}, {"most", kLeast}, {"one", "5"}, {"ten", kMost}}));
  EXPECT_NE(plan(sql).find("SEARCH i USING INTEGER PRIMARY KEY (rowid=?)"), std::string::npos) << plan(sql);
}

TEST_F(IntegerKeys, 08_GroupsOrdersAndSets) {
  EXPECT_EQ(
      db.rows(
          "SELECT neighbor, count(*) FROM glove_nn WHERE word IN (SELECT id FROM item) AND k = 2 GROUP BY "
          "neighbor ORDER BY neighbor"),
      (Rows{{kLeast, "1"}, {"1", "1"}, {"5", "2"}, {"10", "4"}, {kMost, "2"}}));
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn(1) ORDER BY neighbor"),
            (Rows{{kLeast}, {"5"}, {"10"}, {kMost}}));
  EXPECT_EQ(db.rows("SELECT id FROM item EXCEPT SELECT neighbor FROM glove_nn(1)"), (Rows{{"1"}}));
  EXPECT_EQ(
      db.rows(
          "SELECT name FROM item WHERE id NOT IN (SELECT neighbor FROM glove_nn(1, NULL, 3)) ORDER BY id"),
      (Rows{{"least"}, {"one"}}));
}

// The column is declared TEXT, so a table made of it contains text, which still joins with the keys.
TEST_F(IntegerKeys, 09_CreateTableAsHoldsText) {
  db.rows("CREATE TABLE found AS SELECT neighbor, rank FROM glove_nn(1)");
  EXPECT_EQ(db.rows("SELECT DISTINCT typeof(neighbor) FROM found"), (Rows{{"text"}}));
  EXPECT_EQ(db.rows("SELECT i.name FROM found f JOIN item i ON i.id = f.neighbor ORDER BY f.rank"),
            (Rows{{"five"}, {"ten"}, {"most"}, {"least"}}));
  db.rows("CREATE TABLE kept AS SELECT CAST(neighbor AS INTEGER) AS id FROM glove_nn(1)");
  EXPECT_EQ(db.rows("SELECT DISTINCT typeof(id) FROM kept"), (Rows{{"integer"}}));
}

// SQLite compares a TEXT column with an INTEGER in a column declared TEXT as they are: docs/sql.md says to
// CAST.
TEST_F(IntegerKeys, 10_TextColumnsNeedACast) {
  db.rows("CREATE TABLE tag(key TEXT); INSERT INTO tag VALUES ('5'), ('05')");
  for (const char* index : {"", "CREATE INDEX tag_key ON tag(key)"}) {
    db.rows(index);
    for (const char* join : {"glove_nn(1) n CROSS JOIN tag", "tag CROSS JOIN glove_nn(1) n"}) {
      const std::string select = std::string("SELECT n.rank FROM ") + join + " ON ";
      EXPECT_EQ(db.rows(select + "n.neighbor = tag.key"), Rows()) << join;
      EXPECT_EQ(db.rows(select + "n.neighbor IN (SELECT key FROM tag)"), Rows()) << join;
      EXPECT_EQ(db.rows(select + "n.neighbor = CAST(tag.key AS INTEGER)"), (Rows{{"1"}, {"1"}})) << join;
      EXPECT_EQ(db.rows(select + "CAST(n.neighbor AS TEXT) = tag.key"), (Rows{{"1"}})) << join;
    }
  }
  EXPECT_EQ(db.rows("SELECT tag.key, n.neighbor FROM tag JOIN glove_nn n ON n.word = tag.key AND n.k = 1"),
            (Rows{{"5", "10"}}));
}

TEST_F(IntegerKeys, 11_FunctionsAndTheVocabulary) {
  const std::string expected = db.value("SELECT similarity FROM glove_nn(1, NULL, 1)");
  EXPECT_EQ(db.rows("SELECT cos_sim(1, 5), cos_sim('1', 5), cos_sim('5', '1')"),
            (Rows{{expected, expected, expected}}));
  EXPECT_EQ(db.rows("SELECT cos_sim(1, 5.0), cos_sim(1, '05'), cos_sim(1, 2)"),
            (Rows{{"NULL", "NULL", "NULL"}}));
  EXPECT_EQ(db.rows("SELECT i.name FROM item i WHERE cos_sim(1, i.id) > 0.9 ORDER BY i.id"),
            (Rows{{"one"}, {"five"}, {"ten"}}));
  EXPECT_EQ(db.rows("SELECT id, word, typeof(word) FROM glove_words WHERE word = 5"),
            (Rows{{"1", "5", "text"}}));
  EXPECT_EQ(
      db.rows("SELECT i.name, w.id FROM item i JOIN glove_words w ON w.word = i.id ORDER BY w.id LIMIT 2"),
      (Rows{{"one", "0"}, {"five", "1"}}));
  // In an expression a number is a weight, and a key is quoted.
  EXPECT_EQ(db.rows("SELECT * FROM glove_nn(NULL, '\"5\" - \"1\"')"),
            db.rows("SELECT * FROM glove_nn(5, '- \"1\"')"));
  EXPECT_EQ(db.value("SELECT neighbor FROM glove_nn(NULL, '2 * \"5\"', 1)"), "10");
  EXPECT_EQ(db.value("SELECT glove_oov('\"5\" + \"05\"')"), "[\"05\"]");
}

TEST_F(IntegerKeys, 12_ModelsOfBothTypesInOneStatement) {
  db.rows("SELECT glove_load_table('texts', 'SELECT CAST(id AS TEXT), vector FROM item ORDER BY vector')");
  EXPECT_EQ(
      db.rows("SELECT model, neighbor, typeof(neighbor) FROM glove_nn WHERE word = 1 AND k = 1 AND model IN "
              "('texts', 'items') ORDER BY model"),
      (Rows{{"items", "5", "integer"}, {"texts", "5", "text"}}));
  for (const char* condition :
       {"neighbor = 5", "neighbor = '5'", "neighbor IN (SELECT id FROM item WHERE name = 'five')"})
    EXPECT_EQ(
        db.rows(std::string("SELECT model, rank FROM glove_nn WHERE word = 1 AND model IN ('texts', 'items') "
                            "AND ") +
                condition + " ORDER BY model"),
        (Rows{{"items", "1"}, {"texts", "1"}}))
        << condition;
}

// Random keys return the same rows as a model with their texts, and behave in joins and conditions like an
// ordinary table.
TEST_F(IntegerKeys, 13_AsAnOrdinaryTable) {
  GLOVE_TRACE_SEED();
  auto random = random_source();
  db.rows("DELETE FROM item");
  const auto key = [&] { return static_cast<int64_t>(random()) >> (random() % 64); };
  for (int i = 0; i < 60; ++i) {
    std::string vector = "[";
    for (int j = 0; j < 4; ++j)
      vector += (j > 0 ? ", " : "") + std::to_string(static_cast<int>(random() % 19) - 9);
    db.rows("INSERT OR IGNORE INTO item VALUES (" + std::to_string(key()) + ", 'x', '" + vector + "]')");
  }
  db.rows(
      "SELECT glove_load_table('items', 'SELECT id, vector FROM item');"
      "SELECT glove_load_table('texts', 'SELECT CAST(id AS TEXT), vector FROM item');"
      "CREATE TABLE r(neighbor INTEGER, similarity REAL, rank INTEGER, word INTEGER);"
      "INSERT INTO r SELECT n.neighbor, n.similarity, n.rank, i.id FROM item i JOIN glove_nn n ON n.word = "
      "i.id AND "
      "n.model = 'texts'");
  const auto same = [&](const std::string& select, const std::string& condition) {
    const std::string end = " ORDER BY n.word + 0, n.rank";
    const Rows expected = db.rows(select + " FROM r n" + condition + end);
    EXPECT_EQ(db.rows(select + " FROM glove_nn n" + condition + end), expected) << select << condition;
    return expected.size();
  };
  const std::string all = "SELECT n.word + 0, n.neighbor, typeof(n.neighbor), n.similarity, n.rank";
  EXPECT_GT(same(all, " WHERE n.word IN (SELECT id FROM item)"), 0U);
  size_t rows = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string some = " FROM item ORDER BY id % " + std::to_string(2 + random() % 97) + ", id LIMIT ";
    const std::string word = db.value("SELECT id" + some + "1"),
                      other = db.value("SELECT id" + some + "1 OFFSET 3");
    for (const std::string& condition :
         {"n.neighbor = " + other, "n.neighbor = '" + other + "'", "n.neighbor IN (" + other + ", 5)",
          "n.neighbor IN (SELECT id" + some + "7)", "n.neighbor = " + other + " AND n.rank < 30"})
      rows += same(all, " WHERE n.word = " + word + " AND " + condition);
    rows +=
        same(all + ", i.id", " JOIN item i ON i.id = n.neighbor WHERE n.word = " + word + " AND n.rank < 9");
  }
  EXPECT_GT(rows, 0U);
}

TEST_F(IntegerKeys, 14_AMixIsAnErrorThatNamesTheRow) {
  EXPECT_EQ(db.error("SELECT glove_load_table('x', 'VALUES (1, ''[1]''), (''a'', ''[1]'')')"),
            "glove_load_table('x'): row 2 has the TEXT word 'a', but the rows before have INTEGER words; use "
            "one type");
  EXPECT_EQ(
      db.error("SELECT glove_load_table('x', 'VALUES (''a'', ''[1]''), (''b'', ''[1]''), (7, ''[1]'')')"),
      "glove_load_table('x'): row 3 has the INTEGER word 7, but the rows before have TEXT words; use one "
      "type");
  EXPECT_EQ(db.error("SELECT glove_load_table('x', 'VALUES (1.5, ''[1]'')')"),
            "glove_load_table('x'): row 1 has a word of type REAL; a word must be TEXT or INTEGER");
  EXPECT_EQ(db.rows("SELECT name FROM glove_models"), (Rows{{"items"}}));
}

}  // namespace
}  // namespace glove::testing
