// Pins the plans that SQLite makes of joins with glove_nn: the position of the search, its inputs, and that
// there is no sorter if rows come in order. docs/joins.md explains them.
#include "tests/sql/nn_test.h"

namespace glove::testing {
namespace {

// No model is loaded, so the costs are those of a usual one (400,000 words of 100 components).
class Planner : public NnTest {
 protected:
  void SetUp() override {
    if (sqlite3_libversion_number() < 3038000) GTEST_SKIP() << "SQLite before 3.38 makes other plans";
    unload_all(db);
    db.rows(
        "CREATE TEMP TABLE items(id INTEGER PRIMARY KEY, tag TEXT);"
        "CREATE TEMP TABLE docs(id INTEGER PRIMARY KEY, word TEXT); CREATE INDEX temp.docs_word ON "
        "docs(word)");
  }

  // 100,000 rows in both tables, and SQLite knows it.
  void fill() {
    db.rows(
        "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 100000) "
        "INSERT INTO items SELECT i, 'w' || i FROM c; INSERT INTO docs SELECT * FROM items; ANALYZE temp");
  }
};

TEST_F(Planner, 01_ALateralJoinSearchesOnceARow) {
  const std::string sql =
      "SELECT i.id, n.neighbor FROM items i JOIN glove_nn n ON n.word = i.tag AND n.k = 5";
  const std::string expected = "SCAN i\nSCAN n VIRTUAL TABLE INDEX 0:word= k=\n";
  EXPECT_EQ(plan(sql), expected);
  fill();
  EXPECT_EQ(plan(sql), expected);
  EXPECT_EQ(plan("SELECT i.id, n.neighbor FROM glove_nn n JOIN items i ON n.word = i.tag AND n.k = 5"),
            expected);
}

TEST_F(Planner, 02_ABatchIsOneSearch) {
  const std::string sql =
      "SELECT n.word, n.neighbor, n.rank FROM glove_nn n WHERE n.word IN (SELECT tag FROM items) AND "
      "n.k = 5 ORDER BY n.word, n.rank";
  const std::string expected = "SCAN n VIRTUAL TABLE INDEX 2:word[] k=\nLIST SUBQUERY 1\n  SCAN items\n";
  EXPECT_EQ(plan(sql), expected);
  fill();
  EXPECT_EQ(plan(sql), expected);
}

// The search runs once and never in the inner loop, whatever the size and indexes of the table.
TEST_F(Planner, 03_RowsOfATableByTheWordsFound) {
  const std::string indexed =
      "SELECT d.id FROM docs d JOIN glove_nn('king', NULL, 10) n ON d.word = n.neighbor";
  const std::string plain =
      "SELECT i.id FROM items i JOIN glove_nn('king', NULL, 10) n ON i.tag = n.neighbor";
  const std::string search = "SCAN n VIRTUAL TABLE INDEX 0:word= expr= k=\n";
  EXPECT_EQ(plan(indexed), search + "SEARCH d USING COVERING INDEX docs_word (word=?)\n");
  EXPECT_TRUE(plan(plain).starts_with(search)) << plan(plain);
  fill();
  EXPECT_EQ(plan(indexed), search + "SEARCH d USING COVERING INDEX docs_word (word=?)\n");
  EXPECT_TRUE(plan(plain).starts_with(search)) << plan(plain);
}

TEST_F(Planner, 04_TheNearestRowsOfALargeTableInOrder) {
  fill();
  EXPECT_EQ(
      plan("SELECT d.id FROM glove_nn('king') n JOIN docs d ON d.word = n.neighbor ORDER BY n.rank LIMIT 10"),
      "SCAN n VIRTUAL TABLE INDEX 2:word=\nSEARCH d USING COVERING INDEX docs_word (word=?)\n");
}

// The similarity of one row needs no search, only that row of the model.
TEST_F(Planner, 05_TheSimilarityOfAFewRows) {
  fill();
  EXPECT_EQ(plan("SELECT i.id, n.similarity FROM items i JOIN glove_nn('king') n ON n.neighbor = i.tag WHERE "
                 "i.id < 5"),
            "SEARCH i USING INTEGER PRIMARY KEY (rowid<?)\nSCAN n VIRTUAL TABLE INDEX 0:word= neighbor=\n");
}

TEST_F(Planner, 06_QueryExpansionAcrossTwoLargeTables) {
  fill();
  EXPECT_EQ(plan("SELECT i.id, d.id FROM items i JOIN glove_nn n ON n.word = i.tag AND n.k = 5 "
                 "JOIN docs d ON d.word = n.neighbor WHERE i.id < 100"),
            "SEARCH i USING INTEGER PRIMARY KEY (rowid<?)\nSCAN n VIRTUAL TABLE INDEX 0:word= k=\n"
            "SEARCH d USING COVERING INDEX docs_word (word=?)\n");
  EXPECT_EQ(plan("SELECT d.id FROM glove_nn n JOIN docs d ON d.word = n.neighbor "
                 "WHERE n.word IN (SELECT tag FROM items WHERE id < 100) AND n.k = 5"),
            "SCAN n VIRTUAL TABLE INDEX 0:word[] k=\nLIST SUBQUERY 1\n"
            "  SEARCH items USING INTEGER PRIMARY KEY (rowid<?)\n"
            "SEARCH d USING COVERING INDEX docs_word (word=?)\n");
}

TEST_F(Planner, 07_OrdersThatNeedNoSorter) {
  for (const char* order : {"rank", "similarity DESC", "similarity DESC, rank", "rank, neighbor",
                            "word, rank", "word DESC, k, rank, similarity"}) {
    const std::string sql =
        std::string("SELECT neighbor FROM glove_nn('king') WHERE k = 5 ORDER BY ") + order;
    EXPECT_EQ(plan(sql).find("TEMP B-TREE"), std::string::npos) << sql << "\n" << plan(sql);
  }
  for (const char* order :
       {"word, rank", "word, similarity DESC", "word, similarity DESC, rank", "k, word, rank"}) {
    const std::string sql =
        std::string("SELECT neighbor FROM glove_nn WHERE word IN ('a', 'b') AND k = 5 ORDER BY ") + order;
    EXPECT_EQ(plan(sql).find("TEMP B-TREE"), std::string::npos) << sql << "\n" << plan(sql);
  }
}

TEST_F(Planner, 08_OrdersThatNeedOne) {
  for (const char* order : {"rank DESC", "similarity", "similarity DESC, neighbor", "neighbor"}) {
    const std::string sql = std::string("SELECT neighbor FROM glove_nn('king') ORDER BY ") + order;
    EXPECT_NE(plan(sql).find("USE TEMP B-TREE FOR ORDER BY"), std::string::npos) << sql << "\n" << plan(sql);
  }
  for (const char* order : {"rank", "similarity DESC", "word DESC, rank", "word, similarity"}) {
    const std::string sql =
        std::string("SELECT neighbor FROM glove_nn WHERE word IN ('a', 'b') ORDER BY ") + order;
    EXPECT_NE(plan(sql).find("USE TEMP B-TREE"), std::string::npos) << sql << "\n" << plan(sql);
  }
}

TEST_F(Planner, 09_ConditionsOnRows) {
  const std::pair<const char*, const char*> cases[] = {
      {"rank <= 3", "2:word= rank<="},
      {"rank = 3", "2:word= rank="},
      {"rank BETWEEN 2 AND 3", "2:word= rank>= rank<="},
      {"rank IN (1, 2)", "2:word="},
      {"similarity > 0.5", "0:word= similarity>="},
      {"neighbor = 'queen'", "0:word= neighbor="},
      {"neighbor = 'queen' COLLATE NOCASE", "0:word="},
      {"neighbor COLLATE NOCASE = 'queen'", "0:word="},
      {"neighbor IN ('queen', 'prince')", "0:word= neighbor[]"},
      {"neighbor = 'queen' AND rank < 3", "2:word= neighbor= rank<="},
      {"neighbor LIKE 'q%'", "0:word="},
      {"similarity > 0.5 LIMIT 3", "0:word= similarity>= limit"},
      {"neighbor LIKE 'q%' LIMIT 3", "0:word="},
      {"word IS NOT NULL LIMIT 3", "0:word="},
  };
  for (const auto& [condition, index] : cases) {
    const std::string text = plan("SELECT neighbor FROM glove_nn('king') WHERE " + std::string(condition));
    EXPECT_EQ(text.substr(0, text.find('\n')), std::string("SCAN glove_nn VIRTUAL TABLE INDEX ") + index)
        << condition;
  }
}

// LIMIT sizes the first piece if SQLite discards no row of glove_nn and wants its order.
TEST_F(Planner, 10_Limits) {
  const std::pair<const char*, const char*> cases[] = {
      {"LIMIT 3", "0:word= limit"},
      {"LIMIT 3 OFFSET 4", "0:word= limit offset"},
      {"ORDER BY similarity DESC LIMIT 3", "8:word= limit"},
      {"ORDER BY distance LIMIT 3", "0:word= limit"},
      {"ORDER BY neighbor LIMIT 3", "0:word="},
  };
  for (const auto& [end, index] : cases) {
    const std::string text = plan("SELECT neighbor FROM glove_nn('king') " + std::string(end));
    EXPECT_EQ(text.substr(0, text.find('\n')), std::string("SCAN glove_nn VIRTUAL TABLE INDEX ") + index)
        << end;
  }
}

TEST_F(Planner, 11_EachBranchOfAnOrIsASearch) {
  EXPECT_EQ(plan("SELECT neighbor FROM glove_nn WHERE (word = 'king' AND rank <= 3) OR (word = 'man' AND "
                 "rank <= 2)"),
            "MULTI-INDEX OR\n  INDEX 1\n    SCAN glove_nn VIRTUAL TABLE INDEX 2:word= rank<=\n"
            "  INDEX 2\n    SCAN glove_nn VIRTUAL TABLE INDEX 2:word= rank<=\n");
  EXPECT_EQ(plan("SELECT neighbor FROM glove_nn WHERE word IN ('king', 'man')"),
            "SCAN glove_nn VIRTUAL TABLE INDEX 0:word[]\n");
}

TEST_F(Planner, 12_GroupsComeTogether) {
  EXPECT_EQ(plan("SELECT word, count(*) FROM glove_nn WHERE word IN ('a', 'b') AND k = 3 GROUP BY word"),
            "SCAN glove_nn VIRTUAL TABLE INDEX 0:word[] k=\n");
}

// The whole relation of a small model is cheap. In a model of the usual size, computing the similarity of
// 100,000 words alone is cheaper.
TEST_F(Planner, 13_CostsFollowTheModel) {
  fill();
  const std::string sql =
      "SELECT d.id, n.similarity FROM docs d JOIN glove_nn('king') n ON n.neighbor = d.word";
  EXPECT_EQ(plan(sql), "SCAN d\nSCAN n VIRTUAL TABLE INDEX 0:word= neighbor=\n");
  db.rows("SELECT glove_load(" + sql_text(folder.write("m.txt", kNnModel)) + ", 'm')");
  EXPECT_EQ(plan(sql),
            "SCAN n VIRTUAL TABLE INDEX 0:word=\nSEARCH d USING COVERING INDEX docs_word (word=?)\n");
}

// SQLite plans each branch of an OR without the conditions beside it; the table that k needs must still come
// first.
TEST_F(Planner, 14_AnInputFromATableBesideAnOr) {
  db.rows("SELECT glove_load(" + sql_text(folder.write("m.txt", kNnModel)) + ", 'm')");
  db.rows(
      "CREATE TEMP TABLE wish(id, many, word); INSERT INTO wish VALUES (1, 2, 'the'), (2, 1, 'paris'), (3, "
      "0, 'the')");
  const auto same = [&](const std::string& alternatives, const std::string& list, const std::string& rest) {
    const std::string order = " ORDER BY 1, 2, n.rank LIMIT 100";
    const std::string column = list.starts_with("n.word") ? "n.word" : "n.expr";
    const std::string select = "SELECT w.id, " + column + ", n.neighbor FROM wish w JOIN glove_nn n ON ";
    const Rows expected = db.rows(select + list + rest + order);
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(db.rows(select + alternatives + rest + order), expected) << alternatives << rest;
  };
  for (const char* more : {"", " AND n.model = 'm'", " AND n.rank <= 9 AND n.neighbor <> 'far'"}) {
    const std::string rest = std::string(" AND n.k = w.many") + more;
    same("(n.word = 'king' OR n.word = 'man')", "n.word IN ('king', 'man')", rest);
    same("(n.expr = '- man' OR n.expr = '+ man')", "n.expr IN ('- man', '+ man')",
         " AND n.word = w.word" + rest);
  }
  EXPECT_EQ(
      plan(
          "SELECT n.neighbor FROM wish w JOIN glove_nn n ON (n.word = 'a' OR n.word = 'b') AND n.k = w.many"),
      "SCAN w\nSCAN n VIRTUAL TABLE INDEX 0:word[] k=\n");
}

}  // namespace
}  // namespace glove::testing
