// Counts the searches that the backend runs for many queries at once and for repeated queries.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "tests/sql/nn_test.h"

namespace glove::testing {
namespace {

// A model of 2,500 words, and a second connection that splits each IN and caches nothing.
class Batch : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sqlite3_libversion_number() < 3038000) GTEST_SKIP() << "SQLite before 3.38 hands no IN over whole";
    unload_all(db);
    std::mt19937 random(20);
    std::normal_distribution<float> component;
    std::string text;
    for (int i = 0; i < 2500; ++i) {
      text += "w" + std::to_string(i);
      for (int j = 0; j < 6; ++j) text += ' ' + std::to_string(component(random));
      text += '\n';
    }
    db.rows("SELECT glove_load(" + sql_text(folder.write("m.txt", text)) + ", 'm')");
    db.rows("CREATE TEMP TABLE asked AS SELECT word AS tag FROM glove_words");
    setenv("GLOVE_NN_DISABLE", "batch,cache", 1);
    one_by_one.rows("CREATE TEMP TABLE asked AS SELECT word AS tag FROM glove_words");
    one_by_one.rows("SELECT * FROM glove_nn('w1', NULL, 1)");  // the variable is read at the first use
    unsetenv("GLOVE_NN_DISABLE");
  }
  void TearDown() override { unload_all(db); }

  // kind and queries of each search that the statement made, oldest first.
  Rows searches(const std::string& sql) {
    one_by_one.rows("SELECT * FROM glove_nn('w0', NULL, 777)");  // a mark among the statistics
    db.rows(sql);
    return searches_since(db, "777");
  }

  TemporaryFolder folder;
  Connection db;
  Connection one_by_one;
};

TEST_F(Batch, 01_GivesTheSameRowsAsOneByOne) {
  for (const char* sql :
       {"SELECT word, neighbor, similarity, rank FROM glove_nn WHERE word IN (SELECT tag FROM asked) AND k = "
        "3 "
        "ORDER BY word, rank",
        "SELECT word, neighbor, rank FROM glove_nn WHERE word IN (SELECT tag FROM asked) AND rank BETWEEN 2 "
        "AND 4 "
        "ORDER BY word, rank",
        "SELECT word, neighbor, rank FROM glove_nn WHERE word IN ('w1', 'w2', 'w3', 'nobody') ORDER BY word, "
        "rank",
        "SELECT expr, neighbor FROM glove_nn WHERE expr IN ('w1 + w2', 'w3', '2 * w4 - w5') AND k IN (1, 3) "
        "ORDER BY expr, k, rank"}) {
    const Rows expected = one_by_one.rows(sql);
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(db.rows(sql), expected) << sql;
  }
}

// Batches are searched in blocks, so that memory does not grow with the number of queries.
TEST_F(Batch, 02_IsOneSearchABlock) {
  EXPECT_EQ(searches("SELECT * FROM glove_nn WHERE word IN (SELECT tag FROM asked LIMIT 1000) AND k = 5"),
            (Rows{{"batch", "1000"}}));
  EXPECT_EQ(searches("SELECT * FROM glove_nn WHERE word IN (SELECT tag FROM asked) AND k = 5"),
            (Rows{{"batch", "1024"}, {"batch", "1024"}, {"batch", "452"}}));
  EXPECT_EQ(searches("SELECT * FROM glove_nn WHERE word IN ('w1', 'w2', 'nobody', NULL) AND rank <= 5"),
            (Rows{{"batch", "2"}}));
  EXPECT_EQ(searches("SELECT * FROM glove_nn WHERE word IN ('w1', 'w2') AND k IN (5, 6)"),
            (Rows{{"batch", "2"}, {"batch", "2"}}));
}

TEST_F(Batch, 03_StopsWhereTheLimitDoes) {
  EXPECT_EQ(searches("SELECT * FROM glove_nn WHERE word IN (SELECT tag FROM asked) AND k = 5 LIMIT 12"),
            (Rows{{"batch", "3"}}));
}

TEST_F(Batch, 04_WithoutKEachQueryGrowsAsItIsRead) {
  EXPECT_EQ(searches("SELECT * FROM glove_nn WHERE word IN ('w1', 'w2') LIMIT 10"), (Rows{{"word", "1"}}));
}

// A join that meets a word again does not search again, even after another model was loaded. A model that
// replaces its own may answer differently.
TEST_F(Batch, 05_LateralJoinsRemember) {
  const std::string sql =
      "WITH c(tag) AS (VALUES ('w1'), ('w2'), ('w1'), ('w1'), ('w2')) "
      "SELECT n.neighbor FROM c JOIN glove_nn n ON n.word = c.tag AND n.k = 3";
  EXPECT_EQ(searches(sql), (Rows{{"word", "1"}, {"word", "1"}}));
  EXPECT_EQ(searches(sql), Rows());
  db.rows("SELECT glove_load(" + sql_text(folder.write("o.txt", "a 1 2\nb 2 1\n")) + ", 'other')");
  EXPECT_EQ(searches(sql), Rows());
  db.rows("SELECT glove_unload('other')");
  EXPECT_EQ(searches(sql), Rows());
  db.rows("SELECT glove_load(" + sql_text(folder.path("m.txt")) + ", 'm')");
  EXPECT_EQ(searches(sql), (Rows{{"word", "1"}, {"word", "1"}}));
}

// Columns that are not read cost nothing: the similarity of one word requires no search, but its rank does.
TEST_F(Batch, 06_OneWordOfTheRelation) {
  EXPECT_EQ(searches("SELECT similarity FROM glove_nn('w1') WHERE neighbor = 'w2'"), (Rows{{"words", "1"}}));
  EXPECT_EQ(searches("SELECT similarity FROM glove_nn('w1') WHERE neighbor IN ('w2', 'w3')"),
            (Rows{{"words", "1"}}));
  EXPECT_EQ(searches("SELECT rank FROM glove_nn('w1') WHERE neighbor = 'w2'"),
            (Rows{{"words", "1"}, {"rank", "1"}}));
  const Rows expected = one_by_one.rows(
      "SELECT neighbor, similarity, rank FROM glove_nn('w1') WHERE neighbor > 'w17' AND neighbor < 'w18'");
  for (const Row& row : expected)
    EXPECT_EQ(
        db.rows("SELECT neighbor, similarity, rank FROM glove_nn('w1') WHERE neighbor = " + sql_text(row[0])),
        Rows{row});
}

// After two ranks of one query, one pass over its rows computes all of them.
TEST_F(Batch, 07_RanksOfOneQueryInAJoin) {
  const auto count_of = [](const Rows& made, const std::string& kind) {
    return std::count(made.begin(), made.end(), Row{kind, "1"});
  };
  const auto expect_searches = [&](const std::string& sql, int words, int rank, int ranks) {
    const Rows expected = one_by_one.rows(sql);
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(db.rows("SELECT * FROM (" + sql + ")"), expected) << sql;
    Connection fresh;
    fresh.rows("CREATE TEMP TABLE asked AS SELECT word AS tag FROM glove_words");
    one_by_one.rows("SELECT * FROM glove_nn('w0', NULL, 777)");
    fresh.rows(sql);
    Rows made = searches_since(fresh, "777");
    EXPECT_EQ(count_of(made, "words"), words) << sql;
    EXPECT_EQ(count_of(made, "rank"), rank) << sql;
    EXPECT_EQ(count_of(made, "ranks"), ranks) << sql;
    if (ranks == 0) return;
    one_by_one.rows("SELECT * FROM glove_nn('w0', NULL, 777)");
    fresh.rows(sql);
    made = searches_since(fresh, "777");
    EXPECT_EQ(count_of(made, "rank") + count_of(made, "ranks"), 0) << sql;
  };
  expect_searches(
      "SELECT a.tag, n.rank FROM (SELECT tag FROM asked LIMIT 60) a LEFT JOIN glove_nn('w7') n ON n.neighbor "
      "= a.tag",
      60, 2, 1);
  expect_searches(
      "SELECT a.tag, n.rank FROM (SELECT tag FROM asked LIMIT 60) a CROSS JOIN glove_nn('w7') n ON "
      "n.neighbor = a.tag "
      "AND n.k = 2000",
      58, 0, 1);
  expect_searches(
      "SELECT n1.neighbor FROM glove_nn('w1', NULL, 50) n1 CROSS JOIN glove_nn('w2') n2 ON n1.neighbor = "
      "n2.neighbor "
      "ORDER BY 1.0 / (60 + n1.rank) + 1.0 / (60 + n2.rank), 1",
      50, 2, 1);
  // Few ranks of many queries are searched for one by one.
  expect_searches(
      "SELECT a.tag, n.rank FROM (SELECT tag FROM asked LIMIT 60) a CROSS JOIN glove_nn n ON n.word = a.tag "
      "AND "
      "n.neighbor = 'w100'",
      60, 60, 0);
}

}  // namespace
}  // namespace glove::testing
