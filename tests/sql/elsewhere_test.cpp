// Mistakes of other search extensions for SQLite, one case each, as their users reported them: glove_nn must
// not make them.
#include "tests/sql/nn_test.h"

namespace glove::testing {
namespace {

class Elsewhere : public NnTest {
 protected:
  std::string words(const std::string& sql) {
    std::string text;
    for (const Row& row : db.rows(sql)) text += row[0] + ' ';
    return text;
  }
};

TEST_F(Elsewhere, 01_LimitWithoutK) {
  EXPECT_EQ(words("SELECT neighbor FROM glove_nn('king') LIMIT 2"), "queen Paris ");
  EXPECT_EQ(words("SELECT neighbor FROM glove_nn WHERE word = 'king' ORDER BY similarity DESC LIMIT 2"),
            "queen Paris ");
  EXPECT_EQ(words("SELECT neighbor FROM glove_nn('king') ORDER BY rank LIMIT 1 OFFSET 2"), "paris ");
}

TEST_F(Elsewhere, 02_TheOtherDirectionOfTheOrder) {
  EXPECT_EQ(words("SELECT neighbor FROM glove_nn('king') ORDER BY similarity LIMIT 2"), "far the ");
  EXPECT_EQ(words("SELECT neighbor FROM glove_nn('king') ORDER BY rank DESC LIMIT 2"), "far the ");
  EXPECT_EQ(words("SELECT neighbor FROM glove_nn('king', NULL, 2) ORDER BY similarity"), "Paris queen ");
}

TEST_F(Elsewhere, 03_LeftJoin) {
  db.rows("CREATE TEMP TABLE t(tag TEXT); INSERT INTO t VALUES ('king'), ('nobody')");
  EXPECT_EQ(db.rows("SELECT t.tag, n.neighbor FROM t LEFT JOIN glove_nn n ON n.word = t.tag AND n.k = 1"),
            (Rows{{"king", "queen"}, {"nobody", "NULL"}}));
  EXPECT_EQ(db.rows("SELECT t.tag FROM t LEFT JOIN glove_nn(t.tag, NULL, 1) n WHERE n.neighbor IS NULL"),
            (Rows{{"nobody"}}));
}

TEST_F(Elsewhere, 04_ABadKIsAnError) {
  EXPECT_EQ(db.error("SELECT * FROM glove_nn('king', NULL, 'abc')"),
            "glove_nn: k must be a non-negative integer, but is 'abc'");
  EXPECT_EQ(db.error("SELECT * FROM glove_nn('king', NULL, -1)"),
            "glove_nn: k must be a non-negative integer, but is -1");
}

TEST_F(Elsewhere, 05_KHasNoCap) {
  std::string model;
  for (int i = 0; i < 6000; ++i) model += "w" + std::to_string(i) + " 1 " + std::to_string(i) + "\n";
  db.rows("SELECT glove_load(" + sql_text(folder.write("large.txt", model)) + ", 'large')");
  EXPECT_EQ(db.value("SELECT count(*) FROM glove_nn('w0', NULL, 5000, 'large')"), "5000");
  EXPECT_EQ(db.value("SELECT max(rank) FROM glove_nn('w0', NULL, NULL, 'large')"), "5999");
}

// The search is put neither into the inner loop nor where its input is not known.
TEST_F(Elsewhere, 06_CostsThatJoinsCanUse) {
  db.rows("CREATE TEMP TABLE t(tag TEXT); INSERT INTO t VALUES ('queen'), ('paris'), ('far'), ('the')");
  db.rows("SELECT * FROM glove_nn('king', NULL, 11)");
  EXPECT_EQ(
      words("SELECT t.tag FROM t JOIN glove_nn('king', NULL, 3) n ON n.neighbor = t.tag ORDER BY n.rank"),
      "queen paris ");
  EXPECT_EQ(searches_since(db, "11"), (Rows{{"word", "1"}}));
}

TEST_F(Elsewhere, 07_LateralJoins) {
  db.rows("CREATE TEMP TABLE t(tag TEXT); INSERT INTO t VALUES ('king'), ('man')");
  EXPECT_EQ(db.rows("SELECT t.tag, n.neighbor FROM t, glove_nn(t.tag) n WHERE n.rank <= 2"),
            (Rows{{"king", "queen"}, {"king", "Paris"}, {"man", "5"}, {"man", "05"}}));
  EXPECT_EQ(db.rows("SELECT tag, (SELECT neighbor FROM glove_nn(tag) LIMIT 1) FROM t"),
            (Rows{{"king", "queen"}, {"man", "5"}}));
}

TEST_F(Elsewhere, 08_ABlobOfTheWrongLength) {
  for (const char* blob : {"x'00'", "x''", "zeroblob(11)", "zeroblob(13)", "zeroblob(16)"})
    EXPECT_TRUE(
        db.error(std::string("SELECT * FROM glove_nn(NULL, ") + blob + ")").starts_with("the vector has "))
        << blob;
}

TEST_F(Elsewhere, 09_APlainScanAndATransaction) {
  EXPECT_EQ(db.value("SELECT count(*) FROM glove_nn('king')"), "10");
  db.rows(
      "BEGIN; SAVEPOINT s; CREATE TEMP TABLE found AS SELECT neighbor FROM glove_nn('king', NULL, 2); "
      "ROLLBACK "
      "TO s");
  EXPECT_EQ(words("SELECT neighbor FROM glove_nn('king', NULL, 2)"), "queen Paris ");
  db.rows("COMMIT");
}

TEST_F(Elsewhere, 10_SimilaritiesComeWithTheRows) {
  EXPECT_EQ(db.rows("SELECT neighbor, similarity = cos_sim('king', neighbor) FROM glove_nn('king', NULL, 2)"),
            (Rows{{"queen", "1"}, {"Paris", "1"}}));
}

TEST_F(Elsewhere, 11_ManyQueriesInOneStatement) {
  db.rows("CREATE TEMP TABLE t(tag TEXT); INSERT INTO t VALUES ('king'), ('man')");
  EXPECT_EQ(
      db.rows(
          "SELECT word, neighbor FROM glove_nn WHERE word IN (SELECT tag FROM t) AND k = 1 ORDER BY word"),
      (Rows{{"king", "queen"}, {"man", "5"}}));
}

TEST_F(Elsewhere, 12_FiltersFromOrdinaryTables) {
  db.rows(
      "CREATE TEMP TABLE stock(word TEXT, n INTEGER); INSERT INTO stock VALUES ('the', 3), ('paris', 0), "
      "('man', 2)");
  EXPECT_EQ(
      words("SELECT n.neighbor FROM glove_nn('king') n JOIN stock s ON s.word = n.neighbor WHERE s.n > 0 "
            "ORDER BY n.rank LIMIT 2"),
      "man the ");
}

}  // namespace
}  // namespace glove::testing
