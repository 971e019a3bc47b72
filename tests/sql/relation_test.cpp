// The rows of glove_nn, case by case, as docs/sql.md describes them.
#include "tests/sql/nn_test.h"

namespace glove::testing {
namespace {

using Relation = NnTest;

TEST_F(Relation, 01_HoldsEveryWordButTheQueryBestFirst) {
  const Rows expected = {{"queen", "0.97995788701222275", "1"}, {"Paris", "0.93333333333333335", "2"},
                         {"paris", "0.93333333333333335", "3"}, {"woman", "0.81649658092772603", "4"},
                         {"5", "0.70710678118654757", "5"},     {"05", "0.70710678118654757", "6"},
                         {"man", "0.59628479399994394", "7"},   {"o'neil", "0.44721359549995793", "8"},
                         {"the", "0.33333333333333331", "9"},   {"far", "-0.89087080637474791", "10"}};
  EXPECT_EQ(db.rows("SELECT neighbor, similarity, rank FROM glove_nn('king')"), expected);
}

TEST_F(Relation, 02_KKeepsTheFirstRanks) {
  const Rows expected = {{"queen"}, {"Paris"}};
  for (const char* k : {"2", "2.0", "'2'", "' 2 '", "'2.0'"})
    EXPECT_EQ(db.rows(std::string("SELECT neighbor FROM glove_nn('king', NULL, ") + k + ")"), expected) << k;
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn('king', NULL, 0)"), Rows());
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn('king', NULL, 9223372036854775807)").size(), 10U);
}

TEST_F(Relation, 03_InputsAreGivenByArgumentEqualsIsAndIn) {
  const Rows expected = {{"queen", "1"}};
  EXPECT_EQ(db.rows("SELECT neighbor, rank FROM glove_nn('king', NULL, 1, 'm', 'cpu')"), expected);
  EXPECT_EQ(db.rows("SELECT neighbor, rank FROM glove_nn WHERE word = 'king' AND k = 1 AND model = 'm'"),
            expected);
  EXPECT_EQ(
      db.rows("SELECT neighbor, rank FROM glove_nn WHERE word IS 'king' AND k IS 1 AND backend IS 'auto'"),
      expected);
  EXPECT_EQ(db.rows("SELECT neighbor, rank FROM glove_nn WHERE word IN ('king') AND k IN (1)"), expected);
}

TEST_F(Relation, 04_EachCombinationOfInputsHasItsRows) {
  const Rows expected = {{"1", "king", "queen"}, {"1", "man", "5"}, {"2", "king", "queen"},
                         {"2", "king", "Paris"}, {"2", "man", "5"}, {"2", "man", "05"}};
  EXPECT_EQ(db.rows("SELECT k, word, neighbor FROM glove_nn WHERE word IN ('man', 'king') AND k IN (2, 1) "
                    "ORDER BY k, word, rank"),
            expected);
}

TEST_F(Relation, 05_ExpressionsExcludeTheirWords) {
  EXPECT_EQ(db.value("SELECT neighbor FROM glove_nn WHERE expr = 'king - man + woman' AND k = 1"), "queen");
  EXPECT_EQ(db.value("SELECT count(*) FROM glove_nn WHERE expr = 'king - man + woman'"), "8");
  EXPECT_EQ(db.rows("SELECT * FROM glove_nn('king', '- man + woman')"),
            db.rows("SELECT * FROM glove_nn WHERE expr = 'king - man + woman'"));
  EXPECT_EQ(db.rows("SELECT * FROM glove_nn WHERE expr = 'king man - woman +'"),
            db.rows("SELECT * FROM glove_nn WHERE expr = 'king - man + woman'"));
}

TEST_F(Relation, 06_ABlobIsAVectorAndExcludesNothing) {
  EXPECT_EQ(db.rows("SELECT neighbor, rank FROM glove_nn(NULL, (SELECT vector FROM glove_words WHERE word = "
                    "'king'), 2)"),
            (Rows{{"king", "1"}, {"queen", "2"}}));
  EXPECT_EQ(
      db.rows("SELECT w.word, n.neighbor FROM glove_words w JOIN glove_nn n ON n.expr = w.vector AND n.k = 1 "
              "WHERE w.word IN ('man', 'far')"),
      (Rows{{"man", "man"}, {"far", "far"}}));
  EXPECT_EQ(db.rows("SELECT neighbor, typeof(expr) FROM glove_nn WHERE k = 1 AND expr IN "
                    "(SELECT vector FROM glove_words WHERE word IN ('man', 'far')) ORDER BY neighbor"),
            (Rows{{"far", "blob"}, {"man", "blob"}}));
}

TEST_F(Relation, 07_ANumberIsItsText) {
  EXPECT_EQ(db.rows("SELECT word, typeof(word), neighbor FROM glove_nn(5, NULL, 1)"),
            (Rows{{"5", "text", "05"}}));
  EXPECT_EQ(db.rows("SELECT word, neighbor FROM glove_nn WHERE word IN ('05', '5') AND k = 1 ORDER BY word"),
            (Rows{{"05", "5"}, {"5", "05"}}));
}

TEST_F(Relation, 08_WordsAreFoundExactlyThenInLowerCase) {
  EXPECT_EQ(db.value("SELECT neighbor FROM glove_nn('KING', NULL, 1)"), "queen");
  EXPECT_EQ(db.value("SELECT neighbor FROM glove_nn('PARIS', NULL, 1)"), "Paris");
  EXPECT_EQ(db.value("SELECT neighbor FROM glove_nn('Paris', NULL, 1)"), "queen");
}

TEST_F(Relation, 09_NoRowsForWhatIsNotThere) {
  for (const char* sql :
       {"SELECT * FROM glove_nn('nobody')", "SELECT * FROM glove_nn(NULL)", "SELECT * FROM glove_nn('')",
        "SELECT * FROM glove_nn('zero')", "SELECT * FROM glove_nn(NULL, NULL)",
        "SELECT * FROM glove_nn(NULL, '- man + woman')",
        "SELECT * FROM glove_nn WHERE expr = 'king + nobody'",
        "SELECT * FROM glove_nn WHERE expr = 'king - king'",
        "SELECT * FROM glove_nn WHERE expr = zeroblob(12)",
        "SELECT * FROM glove_nn('king') WHERE neighbor = 'zero'",
        "SELECT * FROM glove_nn('king') WHERE neighbor = 'king'",
        "SELECT * FROM glove_nn WHERE word IN (NULL)", "SELECT * FROM glove_nn WHERE word IN ()",
        "SELECT * FROM glove_nn WHERE word IN (SELECT 1 WHERE 0)"})
    EXPECT_EQ(db.rows(sql), Rows()) << sql;
}

TEST_F(Relation, 10_NullMeansNotGiven) {
  const Rows expected = {{"queen"}};
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn('king', NULL, 1, NULL, NULL)"), expected);
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn('king', NULL, NULL) LIMIT 1"), expected);
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn(NULL, 'king - man + woman', 1)"), expected);
  EXPECT_EQ(db.rows("SELECT * FROM glove_nn(NULL, 'king - man + woman')"),
            db.rows("SELECT * FROM glove_nn WHERE expr = 'king - man + woman'"));
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn WHERE word IS NULL AND expr IN ('king', 'man') AND k = 1 "
                    "ORDER BY expr"),
            (Rows{{"queen"}, {"5"}}));
  EXPECT_EQ(
      db.rows("SELECT neighbor FROM glove_nn WHERE word = 'king' AND expr IS NULL AND model IS NULL LIMIT 1"),
      expected);
}

TEST_F(Relation, 11_InputsReadAsTheyWereGiven) {
  EXPECT_EQ(db.rows("SELECT word, k, model, backend FROM glove_nn('KING', NULL, '1', 'm', 'cpu')"),
            (Rows{{"KING", "1", "m", "cpu"}}));
  EXPECT_EQ(db.rows("SELECT expr FROM glove_nn(NULL, x'0000803f0000803f00000000', 1)"),
            (Rows{{"X'0000803F0000803F00000000'"}}));
  EXPECT_EQ(db.rows("SELECT expr FROM glove_nn WHERE expr = 'king' AND k = 1"), (Rows{{"king"}}));
}

TEST_F(Relation, 12_DirtyDataGoesThrough) {
  db.rows("CREATE TEMP TABLE items(id INTEGER PRIMARY KEY, tag)");
  db.rows("INSERT INTO items(tag) VALUES ('king'), (NULL), ('nobody'), (5), ('zero'), ('')");
  EXPECT_EQ(
      db.rows(
          "SELECT i.id, n.neighbor FROM items i JOIN glove_nn n ON n.word = i.tag AND n.k = 1 ORDER BY i.id"),
      (Rows{{"1", "queen"}, {"4", "05"}}));
  EXPECT_EQ(db.rows("SELECT i.id, n.neighbor FROM items i LEFT JOIN glove_nn n ON n.word = i.tag AND n.k = 1 "
                    "ORDER BY i.id"),
            (Rows{{"1", "queen"}, {"2", "NULL"}, {"3", "NULL"}, {"4", "05"}, {"5", "NULL"}, {"6", "NULL"}}));
}

TEST_F(Relation, 13_TheTableIsReadOnlyAndCannotBeMadeAgain) {
  EXPECT_EQ(db.error("INSERT INTO glove_nn VALUES ('a', 1, 1)"), "table glove_nn may not be modified");
  EXPECT_EQ(db.error("DELETE FROM glove_nn WHERE word = 'king'"), "table glove_nn may not be modified");
  EXPECT_EQ(db.error("CREATE VIRTUAL TABLE mine USING glove_nn"), "no such module: glove_nn");
}

TEST_F(Relation, 14_ModelsAreChosenByName) {
  db.rows("SELECT glove_load(" + sql_text(folder.write("other.txt", "a 1 0\nb 1 1\nking 0 1\n")) +
          ", 'other')");
  EXPECT_EQ(
      db.rows(
          "SELECT model, neighbor FROM glove_nn WHERE word = 'king' AND k = 1 AND model IN ('other', 'm') "
          "ORDER BY model"),
      (Rows{{"m", "queen"}, {"other", "b"}}));
  EXPECT_EQ(db.value("SELECT neighbor FROM glove_nn('king', NULL, 1)"), "queen");
}

struct BadInput {
  const char* sql;
  const char* message;
};

// Every message names the value and says what to write.
TEST_F(Relation, 15_Errors) {
  constexpr const char* kNoQuery =
      "glove_nn has no query: SQLite could pass it neither word nor expr; give one as an argument or in a "
      "condition of its own with =, IS or IN (in an outer join, in the ON clause), after the table that the "
      "value comes from, for example WHERE word = 'king' AND k = 10";
  constexpr const char* kNotGiven =
      "glove_nn: SQLite passed no value for the input k, so it can be neither read nor compared; give it as "
      "an argument or in a condition of its own with =, IS or IN (in an outer join, in the ON clause). Every "
      "branch of an OR must give all inputs itself, even those given beside the OR; otherwise write SELECT "
      "... FROM glove_nn WHERE word = 'king' UNION ALL SELECT ... FROM glove_nn WHERE word = 'king' AND k = "
      "...";
  constexpr const char* kRangeOfK =
      "glove_nn: k is an input, so it must be a value and not a range; use k = 10 or rank <= 10";
  constexpr const char* kMatch =
      "glove_nn does not support MATCH; write WHERE word = 'king' AND k = 10, or WHERE expr = 'king - man + "
      "woman' AND k = 10";
  const BadInput cases[] = {
      {"SELECT * FROM glove_nn", kNoQuery},
      {"SELECT * FROM glove_nn WHERE k = 3", kNoQuery},
      {"SELECT * FROM glove_nn WHERE word > 'a'", kNoQuery},
      {"SELECT k FROM glove_nn('king')", kNotGiven},
      {"SELECT * FROM glove_nn('king') WHERE k IS NOT 5", kNotGiven},
      {"SELECT * FROM glove_nn('king') WHERE k < 5", kRangeOfK},
      {"SELECT * FROM glove_nn WHERE word = 'king' AND k <= 10", kRangeOfK},
      {"SELECT * FROM glove_nn WHERE word = 'king' AND k > ?", kRangeOfK},
      {"SELECT * FROM glove_nn WHERE word MATCH 'king'", kMatch},
      {"SELECT * FROM glove_nn('king') WHERE neighbor MATCH 'queen'", kMatch},
      {"SELECT * FROM glove_nn WHERE expr = NULL",
       "glove_nn: expr is NULL, which counts as not given, and word is not given either; write WHERE word = "
       "'king' AND k = 10"},
      {"SELECT * FROM glove_nn('king', 'queen')",
       "glove_nn: word and expr are both given, but expr 'queen' does not start with an operator; write "
       "glove_nn('king', '- man + woman')"},
      {"SELECT * FROM glove_nn('king', 5)",
       "glove_nn: the second argument, expr, is the number 5, but k is the third argument; write "
       "glove_nn('king', NULL, 5)"},
      {"SELECT * FROM glove_nn('king', '05')",
       "glove_nn: the second argument, expr, is the number 05, but k is the third argument; write "
       "glove_nn('king', NULL, 05)"},
      {"SELECT * FROM glove_nn('king', 5, 3)",
       "glove_nn: word and expr are both given, but expr '5' does not start with an operator; write "
       "glove_nn('king', '- man + woman')"},
      {"SELECT * FROM glove_nn('king', x'00')",
       "glove_nn: word and expr are both given, but expr is a BLOB, which is a complete query; omit word: "
       "WHERE expr = ? AND k = 10"},
      {"SELECT * FROM glove_nn(x'00', '- man')",
       "glove_nn: word must be text, not a BLOB; pass a vector as expr: WHERE expr = ? AND k = 10"},
      {"SELECT * FROM glove_nn(x'0000803f0000803f0000803f')",
       "glove_nn: word must be text, not a BLOB; pass a vector as expr: WHERE expr = ? AND k = 10"},
      {"SELECT * FROM glove_nn WHERE expr = x'00'",
       "the vector has 1 byte; the model's 3 dimensions need 12 (float32, little-endian)"},
      {"SELECT * FROM glove_nn(NULL, x'0000c07f0000803f0000803f')",
       "component 1 of the vector is NaN; every component must be finite"},
      {"SELECT * FROM glove_nn(NULL, x'0000803f0000807f0000803f')",
       "component 2 of the vector is infinite; every component must be finite"},
      {"SELECT * FROM glove_nn('king', 'inf')",
       "glove_nn: word and expr are both given, but expr 'inf' does not start with an operator; write "
       "glove_nn('king', '- man + woman')"},
      {"SELECT * FROM glove_nn('king', NULL, -1)", "glove_nn: k must be a non-negative integer, but is -1"},
      {"SELECT * FROM glove_nn('king', NULL, 2.5)", "glove_nn: k must be a non-negative integer, but is 2.5"},
      {"SELECT * FROM glove_nn('king', NULL, 'abc')",
       "glove_nn: k must be a non-negative integer, but is 'abc'"},
      {"SELECT * FROM glove_nn('king', NULL, '')", "glove_nn: k must be a non-negative integer, but is ''"},
      {"SELECT * FROM glove_nn('king', NULL, x'03')",
       "glove_nn: k must be a non-negative integer, but is a BLOB"},
      {"SELECT * FROM glove_nn('king', NULL, 2, 'nope')",
       "there is no model 'nope'; the loaded models are: 'm'"},
      {"SELECT * FROM glove_nn('king', NULL, 2, x'00')",
       "glove_nn: the model must be text, not a BLOB; use CAST(... AS TEXT)"},
      {"SELECT * FROM glove_nn('king', NULL, 2, 'm', x'00')",
       "glove_nn: the backend must be text, not a BLOB; use CAST(... AS TEXT)"},
      {"SELECT * FROM glove_nn('king', '', 'a', 'b', 'c', 1, '[]', 'd', 'e', 'f', 'g', 'h')",
       "too many arguments on glove_nn() - max 11"},
  };
  for (const BadInput& bad : cases) EXPECT_EQ(db.error(bad.sql), bad.message) << bad.sql;
  EXPECT_EQ(
      db.error("SELECT expr FROM glove_nn('king', NULL)"),
      "glove_nn: the input expr is NULL, which counts as not given, so it can be neither read nor compared. "
      "Beside an OR or 16 other conditions SQLite compares it itself; omit the condition there");
  const std::string no_backend = db.error("SELECT * FROM glove_nn('king', NULL, 2, 'm', 'tpu')");
  EXPECT_TRUE(no_backend.starts_with("glove_nn: there is no backend 'tpu'; the backends are: auto, "))
      << no_backend;
  EXPECT_TRUE(no_backend.ends_with("cpu")) << no_backend;
}

// A bad value is an error however it is passed, and leaves the connection unchanged.
TEST_F(Relation, 16_ErrorsInTheMiddleOfAJoinOrABatch) {
  db.rows("CREATE TEMP TABLE asked(tag)");
  db.rows("INSERT INTO asked VALUES ('king'), (x'00'), ('queen')");
  constexpr const char* kMessage =
      "the vector has 1 byte; the model's 3 dimensions need 12 (float32, little-endian)";
  EXPECT_EQ(db.error("SELECT * FROM asked a, glove_nn n WHERE n.expr = a.tag AND n.k = 1"), kMessage);
  EXPECT_EQ(db.error("SELECT * FROM glove_nn n WHERE n.expr IN (SELECT tag FROM asked) AND n.k = 1"),
            kMessage);
  constexpr const char* kWordIsBlob =
      "glove_nn: word must be text, not a BLOB; pass a vector as expr: WHERE expr = ? AND k = 10";
  EXPECT_EQ(db.error("SELECT * FROM asked a, glove_nn n WHERE n.word = a.tag AND n.k = 1"), kWordIsBlob);
  EXPECT_EQ(db.error("SELECT * FROM glove_nn n WHERE n.word IN (SELECT tag FROM asked) AND n.k = 1"),
            kWordIsBlob);
  EXPECT_EQ(db.value("SELECT neighbor FROM glove_nn('king', NULL, 1)"), "queen");
}

TEST_F(Relation, 17_WithoutAModel) {
  unload_all(db);
  EXPECT_EQ(db.error("SELECT * FROM glove_nn('king')"),
            "no model is loaded; load one with SELECT glove_load('FILE') or set GLOVE_MODEL=FILE");
}

// Short words without a NUL are passed to SQLite with a terminating NUL, others without.
TEST_F(Relation, 18_WordsOfAnyLengthAndWithNul) {
  std::vector<std::string> words = {std::string("nul\0", 4), std::string("n\0ul", 4)};
  for (const size_t length : {1, 31, 32, 33, 126, 127, 128, 129, 5000}) words.emplace_back(length, 'x');
  std::string model = "here 1 0\n";
  for (const std::string& word : words) model += word + " 1 1\n";
  db.rows("SELECT glove_load(" + sql_text(folder.write("w.txt", model)) + ", 'w')");
  Rows expected;
  for (const std::string& word : words) expected.push_back({word});
  for (const char* backend : {"auto", "cpu"})
    EXPECT_EQ(db.rows(std::string("SELECT neighbor FROM glove_nn('here', NULL, 20, 'w', '") + backend + "')"),
              expected);
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn('here', NULL, NULL, 'w')"), expected);
}

}  // namespace
}  // namespace glove::testing
