// Branches of an OR in which SQLite splits an IN: each becomes thousands of scans, and SQLite must still
// merge their equal rows.
#include <cstdlib>

#include "tests/share.h"
#include "tests/sql/nn_test.h"

namespace glove::testing {
namespace {

const int kWords = test::kShortShare == 1 ? 4200 : 1050;

class OrLoops : public ::testing::Test {
 protected:
  void SetUp() override {
    unload_all(db);
    std::string text;
    for (int i = 1; i <= kWords; ++i) text += "w" + std::to_string(i) + " 1 " + std::to_string(i) + "\n";
    db.rows("SELECT glove_load(" + sql_text(folder.write("m.txt", text)) + ", 'm')");
    db.rows(kTable);
  }
  void TearDown() override { unload_all(db); }

  static constexpr const char* kTable = "CREATE TEMP TABLE asked AS SELECT word AS tag FROM glove_words";
  const std::string branch = "(n.word IN (SELECT tag FROM asked) AND n.rank <= 1)";
  const std::string count = "SELECT count(*), count(DISTINCT n.word) FROM glove_nn n WHERE ";
  const Rows once = {{std::to_string(kWords), std::to_string(kWords)}};

  TemporaryFolder folder;
  Connection db;
};

TEST_F(OrLoops, 01_WithoutBatches) {
  setenv("GLOVE_NN_DISABLE", "batch", 1);
  Connection loops;
  loops.rows("SELECT * FROM glove_nn('w1', NULL, 1)");  // the variable is read at the first use
  unsetenv("GLOVE_NN_DISABLE");
  loops.rows(kTable);
  EXPECT_EQ(loops.rows(count + branch + " OR " + branch), once);
  EXPECT_EQ(loops.rows(count + branch + " OR " + branch + " OR " + branch), once);
  EXPECT_EQ(loops.rows("SELECT a.i, count(*) FROM (SELECT 1 AS i UNION ALL SELECT 2) a CROSS JOIN glove_nn n "
                       "WHERE " +
                       branch + " OR " + branch + " GROUP BY 1"),
            (Rows{{"1", std::to_string(kWords)}, {"2", std::to_string(kWords)}}));
}

// SQLite passes a whole IN only among the first 32 conditions.
TEST_F(OrLoops, 02_BehindManyConditions) {
  std::string conditions;
  for (int i = 0; i < 32; ++i) conditions += "n.similarity > -2 AND ";
  EXPECT_EQ(db.rows(count + branch + " OR (" + conditions + branch + ")"), once);
  EXPECT_EQ(db.rows(count + "(" + conditions + branch + ") OR " + branch), once);
}

// A join needs no rowids, so that a million outer rows store no numbers.
TEST_F(OrLoops, 03_SQLiteReadsRowidsOnlyToMergeBranches) {
  const auto reads_rowids = [this](const std::string& sql) {
    for (const Row& row : db.rows("EXPLAIN " + sql))
      if (row[1] == "Rowid") return true;
    return false;
  };
  EXPECT_TRUE(reads_rowids(count + branch + " OR " + branch));
  for (const char* join : {"CROSS JOIN", "JOIN", "LEFT JOIN"})
    EXPECT_FALSE(reads_rowids("SELECT a.tag, n.neighbor FROM asked a " + std::string(join) +
                              " glove_nn n ON n.word = a.tag AND n.k = 3 ORDER BY n.similarity"))
        << join;
  EXPECT_FALSE(
      reads_rowids("SELECT n.word, count(*) FROM glove_nn n WHERE n.word IN (SELECT tag FROM asked) "
                   "AND n.rank <= 2 GROUP BY n.word HAVING max(n.similarity) > 0"));
}

}  // namespace
}  // namespace glove::testing
