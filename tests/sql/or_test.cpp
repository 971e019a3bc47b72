// Branches of an OR: each branch that gives an input is a separate search, and an input that only some
// branches give is an error.
#include "tests/sql/nn_test.h"

namespace glove::testing {
namespace {

// A second model with other neighbours for the same words.
class Or : public NnTest {
 protected:
  void SetUp() override {
    NnTest::SetUp();
    db.rows("SELECT glove_load(" +
            sql_text(folder.write("m2.txt", "zero 1 1 0\nking 1 0 2\nqueen 2 2 3\nboy 2 0 0\nman 0 1 0\n")) +
            ", 'm2')");
  }

  // The statement returns the rows of all branches, each once.
  void expect_union(const std::string& condition, const std::vector<std::string>& parts) {
    std::string expected;
    for (const std::string& part : parts)
      expected += (expected.empty() ? "" : " UNION ALL ") +
                  ("SELECT word, neighbor, rank FROM glove_nn WHERE " + part);
    Rows rows = db.rows("SELECT * FROM (" + expected + ") ORDER BY 1, 3, 2");
    EXPECT_FALSE(rows.empty()) << condition;
    EXPECT_EQ(db.rows("SELECT word, neighbor, rank FROM glove_nn WHERE " + condition + " ORDER BY 1, 3, 2"),
              rows)
        << condition;
  }

  std::string error(const std::string& condition) {
    return db.error("SELECT neighbor, rank FROM glove_nn WHERE " + condition);
  }
};

// SQLite plans `word = 'king'` alone if every branch has it, and then evaluates the OR on the rows, so that
// it would never read an input that only another branch gives.
TEST_F(Or, 01_EveryBranchMustGiveWhatOneGives) {
  const std::pair<const char*, const char*> cases[] = {
      {"model", "word = 'king' OR (word = 'king' AND model = 'm2')"},
      {"model", "(word = 'king' AND model = 'm2') OR word = 'king'"},
      {"model", "(word = 'king' AND rank < 3) OR (word = 'king' AND model = 'm2' AND rank < 2)"},
      {"model", "word = 'king' AND (rank = 1 OR model = 'm2')"},
      {"model", "word = 'king' AND k = 2 AND (neighbor > 'a' OR (neighbor > 'b' AND model = 'm2'))"},
      {"model", "word = 'man' OR (word = 'king' AND model = 'm2')"},
      {"model", "word = 'man' OR word = 'queen' OR (word = 'king' AND model = 'm2')"},
      {"expr", "word = 'king' OR (word = 'king' AND expr = '- man')"},
      {"expr", "(word = 'king' AND expr = '- man') OR word = 'king'"},
      {"expr", "word = 'king' OR expr = 'king'"},
      {"k", "word = 'king' OR (word = 'king' AND k = 2)"},
      {"k", "(word = 'king' AND rank <= 5) OR (word = 'king' AND k = 2)"},
      {"k", "(word = 'king' OR (word = 'king' AND k = 2)) AND rank <= 5"},
      {"k", "(word = 'king' AND k = 2) OR (word = 'man' AND rank <= 2)"},
      {"k", "word = 'king' AND ((k = 5 AND rank <= 4) OR (k = 3 AND rank <= 2))"},
      {"backend", "word = 'king' OR (word = 'king' AND backend = 'cpu')"},
      {"backend", "(word = 'king' AND backend = 'cpu') OR (word = 'king' AND similarity > 0.9)"},
  };
  for (const auto& [input, condition] : cases) {
    const std::string message = error(condition);
    EXPECT_TRUE(
        message.starts_with(std::string("glove_nn: SQLite passed no value for the input ") + input + ", "))
        << condition << "\n"
        << message;
    EXPECT_NE(message.find("UNION ALL"), std::string::npos) << message;
  }
}

TEST_F(Or, 02_TheSameInJoinsAndOuterJoins) {
  db.rows("CREATE TEMP TABLE t(tag TEXT, model TEXT); INSERT INTO t VALUES ('king', 'm2'), ('man', 'm')");
  for (const char* sql : {"SELECT n.neighbor FROM t JOIN glove_nn n ON n.word = t.tag OR (n.word = t.tag AND "
                          "n.model = t.model)",
                          "SELECT n.neighbor FROM t LEFT JOIN glove_nn n ON n.word = t.tag AND (n.rank = 1 "
                          "OR n.model = t.model)",
                          "SELECT n.neighbor FROM t, glove_nn(t.tag) n WHERE n.rank = 1 OR n.model = 'm2'",
                          "SELECT (SELECT count(*) FROM glove_nn n WHERE n.word = t.tag OR (n.word = t.tag "
                          "AND n.k = 1)) FROM t"})
    EXPECT_NE(db.error(sql).find("SQLite passed no value for the input "), std::string::npos) << sql;
}

TEST_F(Or, 03_BranchesThatGiveTheSameInputsAreSearchesOfTheirOwn) {
  expect_union("(word = 'king' AND model = 'm') OR (word = 'king' AND model = 'm2')",
               {"word = 'king' AND model = 'm'", "word = 'king' AND model = 'm2'"});
  expect_union("((word = 'king' AND model = 'm') OR (word = 'king' AND model = 'm2')) AND k = 2",
               {"word = 'king' AND model = 'm' AND k = 2", "word = 'king' AND model = 'm2' AND k = 2"});
  expect_union("k = 2 AND ((word = 'king' AND model = 'm') OR (word = 'king' AND model = 'm2'))",
               {"word = 'king' AND model = 'm' AND k = 2", "word = 'king' AND model = 'm2' AND k = 2"});
  expect_union("word = 'king' AND ((word = 'king' AND k = 5 AND rank <= 4) OR (word = 'king' AND k = 3))",
               {"word = 'king' AND k = 5 AND rank <= 4", "word = 'king' AND k = 3"});
  expect_union("(word = 'king' AND k = 1) OR (word = 'man' AND k = 2) OR (word = 'the' AND k = 3)",
               {"word = 'king' AND k = 1", "word = 'man' AND k = 2", "word = 'the' AND k = 3"});
  expect_union(
      "k = 3 AND ((word = 'king' AND lower(neighbor) = 'queen') OR (word = 'man' AND neighbor LIKE '5%'))",
      {"word = 'king' AND neighbor = 'queen' AND k = 3", "word = 'man' AND neighbor = '5' AND k = 3"});
  expect_union("(word = 'king' AND expr = '- man') OR (word = 'queen' AND expr = '+ man')",
               {"word = 'king' AND expr = '- man'", "word = 'queen' AND expr = '+ man'"});
}

TEST_F(Or, 04_ConditionsOnRowsMayDiffer) {
  for (const char* condition :
       {"(word = 'king' AND rank <= 2) OR (word = 'king' AND similarity < 0.5)",
        "word = 'king' AND (rank <= 2 OR neighbor = 'far')", "word = 'king' OR (word = 'king' AND rank <= 2)",
        "(word = 'king' AND rank <= 2) OR (word = 'man' AND neighbor IN ('the', 'far'))",
        "(word = 'king' OR word = 'man') AND (rank = 1 OR neighbor = 'far')",
        "(word = 'king' AND neighbor LIKE 'p%') OR (word = 'man' AND rank + 0 = 3)"})
    expect_same(
        "SELECT word, neighbor, rank FROM glove_nn WHERE " + std::string(condition) + " ORDER BY 1, 3",
        "SELECT word, neighbor, rank FROM r WHERE " + std::string(condition) + " ORDER BY 1, 3");
}

// A view that shows the inputs can be asked for some of them.
TEST_F(Or, 05_ColumnsOfAViewThatNobodyReadsAreNotUsed) {
  db.rows("CREATE TEMP VIEW nn AS SELECT neighbor, rank, word, expr, k, model, backend FROM glove_nn");
  EXPECT_EQ(db.rows("SELECT neighbor FROM nn WHERE word = 'king' AND k = 2"),
            db.rows("SELECT neighbor FROM glove_nn('king', NULL, 2)"));
  EXPECT_EQ(db.rows("SELECT n.rank FROM (SELECT * FROM nn) n WHERE n.word = 'king' AND n.neighbor = 'far'"),
            (Rows{{"10"}}));
}

// These words have the same 32-bit hash (FNV-1a), so rows of different inputs need more than it to differ.
TEST_F(Or, 06_RowsOfDifferentInputsAreDifferentRows) {
  db.rows("SELECT glove_load(" +
          sql_text(folder.write("main.txt", "noczw 1 0\ntfbpa 0 1\na 1 1\nb 1 2\nc 2 1\nd 1 3\n")) +
          ", 'main')");
  for (const char* first : {"noczw", "tfbpa"}) {
    const std::string second = first[0] == 'n' ? "tfbpa" : "noczw";
    EXPECT_EQ(
        db.rows("SELECT count(*), count(DISTINCT rowid) FROM glove_nn WHERE (word = " + sql_text(first) +
                " AND similarity > -2) OR (word = " + sql_text(second) + " AND similarity > -2)"),
        (Rows{{"10", "10"}}));
  }
}

TEST_F(Or, 07_ARowKeepsItsRowidWhileTheStatementRuns) {
  db.rows("CREATE TEMP TABLE t(id INTEGER PRIMARY KEY, tag TEXT)");
  db.rows("INSERT INTO t(tag) VALUES ('king'), ('man'), ('king'), ('the'), ('man'), ('king')");
  EXPECT_EQ(
      db.rows("SELECT count(*), count(DISTINCT n.rowid), count(DISTINCT n.word || ' ' || n.neighbor) FROM t "
              "CROSS JOIN glove_nn n ON n.word = t.tag"),
      (Rows{{"60", "30", "30"}}));
  // Both branches find all rows in each round of the loop, in a batch, and beside other cursors.
  EXPECT_EQ(
      db.rows("SELECT t.id, count(*) FROM t CROSS JOIN glove_nn n ON (n.word = t.tag AND n.rank > 0) OR "
              "(n.word = t.tag AND n.similarity > -2) GROUP BY 1"),
      (Rows{{"1", "10"}, {"2", "10"}, {"3", "10"}, {"4", "10"}, {"5", "10"}, {"6", "10"}}));
  EXPECT_EQ(
      db.value("SELECT count(*) FROM glove_nn n WHERE (n.word IN (SELECT tag FROM t) AND n.rank > 0) OR "
               "(n.word IN (SELECT tag FROM t) AND n.similarity > -2)"),
      "30");
  const std::string where =
      " WHERE ((b.word = a.neighbor AND b.rank < 3) OR (b.word = a.neighbor AND b.similarity > -2)) AND "
      "((a.word = 'king' AND a.rank < 3) OR (a.word = 'man' AND a.rank < 3))";
  EXPECT_EQ(db.value("SELECT count(*) FROM glove_nn a CROSS JOIN glove_nn b" + where),
            db.value("SELECT count(*) FROM r a CROSS JOIN r b" + where));
}

}  // namespace
}  // namespace glove::testing
