// glove_map as SQL sees it.
#include <gtest/gtest.h>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

class MapTable : public ::testing::Test {
 protected:
  void SetUp() override {
    unload_all(connection);
    connection.rows("SELECT glove_load(" + sql_text(folder.write("cross.txt", kCrossAndNothing)) +
                    ", 'cross')");
  }
  void TearDown() override { unload_all(connection); }

  TemporaryFolder folder;
  Connection connection;
};

constexpr const char* kRaw = "NULL, NULL, '{\"method\":\"pca\",\"unit_rows\":false}'";
constexpr const char* kPca = "NULL, NULL, NULL, '{\"method\":\"pca\"}'";

TEST_F(MapTable, PlacesWordsByTheirComponents) {
  EXPECT_EQ(connection.rows(std::string("SELECT word, x, y FROM glove_map(4, ") + kRaw + ")"),
            (Rows{{"east", "4", "0"}, {"west", "-4", "0"}, {"north", "0", "1"}, {"south", "0", "-1"}}));
  EXPECT_EQ(
      connection.rows(std::string("SELECT word, x FROM glove_map('[\"west\",\"EAST\",null]', ") + kRaw + ")"),
      (Rows{{"east", "4"}, {"west", "-4"}}));
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_map(0)"), "0");
  EXPECT_EQ(connection.value(std::string("SELECT count(*) FROM glove_map(NULL, ") + kRaw + ")"), "5");
}

// The sum of squares along an axis is its singular value's square.
TEST_F(MapTable, MapsDirectionsByDefault) {
  for (const std::string& table : {std::string("glove_map"), "glove_map(" + std::string(kPca) + ")"})
    EXPECT_EQ(connection.rows("SELECT word FROM " + table), (Rows{{"east"}, {"west"}, {"north"}, {"south"}}))
        << "a word without a direction has no place";
  EXPECT_EQ(
      connection.value("SELECT abs(sum(x * x) / p.singular_value / p.singular_value - 1) < 1e-6 AND "
                       "abs(sum(x)) < 1e-6 FROM glove_map(" +
                       std::string(kPca) +
                       "), glove_pca(1, NULL, NULL, NULL, '{\"unit_rows\":true}') p WHERE p.component = 1"),
      "1");
}

TEST_F(MapTable, EachCombinationOfInputsHasItsOwnRows) {
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_map WHERE (words = 2) OR (words = 3)"), "5");
  EXPECT_EQ(connection.rows("SELECT DISTINCT words, model FROM glove_map(2, 'cross')"),
            (Rows{{"2", "cross"}}));
  EXPECT_EQ(connection.value(
                "SELECT m.x - n.x FROM glove_map(3) m JOIN glove_map(3) n USING (word) WHERE word = 'west'"),
            "0");
}

TEST_F(MapTable, AModelOfOneDimensionLiesOnALine) {
  connection.rows("SELECT glove_load_table('line', 'SELECT 7, ''[1]'' UNION ALL SELECT 9, ''[3]''')");
  EXPECT_EQ(
      connection.rows(std::string("SELECT typeof(word), word, x, y FROM glove_map(NULL, 'line', NULL, ") +
                      "'{\"method\":\"pca\",\"unit_rows\":false}')"),
      (Rows{{"integer", "7", "-1", "0"}, {"integer", "9", "1", "0"}}));
}

// Few words, words at one place, and words without a direction.
TEST_F(MapTable, OddInputsHavePlaces) {
  EXPECT_EQ(connection.rows("SELECT word, x, y FROM glove_map(1)"), (Rows{{"east", "0", "0"}}));
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_map('[]')"), "0");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_map('[\"nothing\"]')"), "0");
  EXPECT_EQ(connection.rows("SELECT word FROM glove_map('[\"west\",\"west\",null,\"EAST\",\"unknown\"]')"),
            (Rows{{"east"}, {"west"}}));
  for (const char* const words : {"2", "3", "4", "5"})
    EXPECT_EQ(
        connection.value(std::string("SELECT count(*) = min(") + words +
                         ", 4) AND abs(sum(x)) < 1e-9 AND abs(sum(y)) < 1e-9 AND max(abs(x)) < 1000 AND "
                         "max(abs(y)) < 1000 FROM glove_map(" +
                         words + ")"),
        "1")
        << words << " words";
  connection.rows(
      "SELECT glove_load_table('equal', 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
      "WHERE "
      "i < 40) SELECT ''w'' || i, ''[3,4]'' FROM n')");
  EXPECT_EQ(connection.rows("SELECT count(*), min(x), max(x), min(y), max(y) FROM glove_map(NULL, 'equal')"),
            (Rows{{"40", "0", "0", "0", "0"}}));
  for (const char* const inputs :
       {"NULL, 'equal', NULL, '{\"method\":\"pca\"}'", "1, 'equal', NULL, '{\"method\":\"pca\"}'",
        "1, 'equal', NULL, '{\"method\":\"pca\",\"unit_rows\":false}'"})
    EXPECT_EQ(
        connection.rows(std::string("SELECT min(x), max(x), min(y), max(y) FROM glove_map(") + inputs + ")"),
        (Rows{{"0", "0", "0", "0"}}))
        << inputs;
  connection.rows("SELECT glove_load_table('line', 'SELECT 7, ''[1]'' UNION ALL SELECT 9, ''[-3]''')");
  EXPECT_EQ(connection.rows("SELECT word, x < 0, y FROM glove_map(NULL, 'line') ORDER BY x"),
            (Rows{{"9", "1", "0"}, {"7", "0", "0"}}));
}

TEST_F(MapTable, AFitIsComputedOnce) {
  connection.rows("CREATE TABLE first AS SELECT word, x, y FROM glove_map(4)");
  const std::string fits =
      "SELECT count(*) FROM glove_stats WHERE kind = 'map' AND model = 'cross' AND k = 15";
  const std::string before = connection.value(fits);
  EXPECT_NE(before, "0");
  EXPECT_EQ(
      connection.value("SELECT count(*) FROM glove_map(4, 'cross', 'auto', '{\"method\":\"neighbors\"}') "
                       "JOIN first USING (word, x, y)"),
      "4");
  EXPECT_EQ(connection.value(fits), before);
}

// Too many dimensions for the components, which the plane of unit rows does not need.
TEST_F(MapTable, WideModelsHavePlaces) {
  connection.rows(
      "SELECT glove_load_table('wide', 'SELECT value, iif(value % 2, ''[1,'', ''[-1,'') || "
      "replace(hex(zeroblob(2047)), ''00'', ''0,'') || value || '']'' FROM json_each(''[1,2,3,4]'')')");
  EXPECT_EQ(
      connection.value(std::string("SELECT count(*) = 4 AND abs(sum(x)) < 1e-9 AND max(abs(x)) > 0.5 FROM "
                                   "glove_map(NULL, 'wide', ") +
                       "NULL, '{\"method\":\"pca\"}')"),
      "1");
  EXPECT_EQ(connection.error("SELECT * FROM glove_map(NULL, 'wide', NULL, "
                             "'{\"method\":\"pca\",\"unit_rows\":false}')"),
            "glove_map: the model has 2049 dimensions; principal components are computed for at most 2048");
}

// Above 50,000 words the default is the plane of the components.
TEST_F(MapTable, ManyWordsAreMappedByTheirComponents) {
  connection.rows(
      "SELECT glove_load_table('many', 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
      "i <= 50000) SELECT i, json_array(1 + i % 7, i % 11) FROM n')");
  const std::string sums = "SELECT count(*), sum(x * word), sum(y * word) FROM glove_map(NULL, 'many'";
  const Rows rows = connection.rows(sums + ")");
  EXPECT_EQ(rows, connection.rows(sums + ", NULL, '{\"method\":\"pca\"}')"));
  EXPECT_EQ(rows.at(0).at(0), "50001");
  EXPECT_EQ(connection.error("SELECT * FROM glove_map(NULL, 'many', NULL, '{\"method\":\"neighbors\"}')"),
            "glove_map: the method \"neighbors\" places at most 50000 words, but there are 50001; name fewer "
            "words, "
            "or use the method \"pca\"");
}

// Stops wherever it is: in the search, or in the layout. The same fit afterwards has its rows.
TEST_F(MapTable, AnInterruptEndsAFit) {
  connection.rows(
      "SELECT glove_load_table('noise', 'WITH RECURSIVE n(i, a) AS (SELECT 1, 12345 UNION ALL SELECT i + 1, "
      "(a * "
      "1103515245 + 12345) % 2147483648 FROM n WHERE i < 4000) SELECT i, json_array(a % 1000 - 500, a / 1000 "
      "% "
      "1000 - 500, a / 1000000 - 1000, i % 17 - 8) FROM n')");
  for (int calls : {1, 3, 10}) {
    const int asked = calls;
    sqlite3_progress_handler(
        connection.handle(), 100, [](void* left) { return static_cast<int>(--*static_cast<int*>(left) < 0); },
        &calls);
    Rows rows;
    const int code = connection.run("SELECT count(*) FROM glove_map(NULL, 'noise')", rows);
    sqlite3_progress_handler(connection.handle(), 0, nullptr, nullptr);
    EXPECT_EQ(code, calls < 0 ? SQLITE_INTERRUPT : SQLITE_OK) << asked;
    EXPECT_TRUE(asked > 1 || code == SQLITE_INTERRUPT);
  }
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_map(NULL, 'noise')"), "4000");
}

TEST_F(MapTable, ErrorsNameTheInput) {
  const auto error = [&](const std::string& arguments) {
    return connection.error("SELECT * FROM glove_map(" + arguments + ")");
  };
  EXPECT_EQ(error("'x'").substr(0, 27), "glove_map: words is 'x', bu");
  EXPECT_EQ(error("1, NULL, NULL, '{\"method\":\"tsne\"}'"),
            "glove_map: option \"method\" is \"tsne\", but must be \"auto\", \"neighbors\" or \"pca\"");
  EXPECT_EQ(error("1, NULL, NULL, '{\"unit_rows\":false}'"),
            "glove_map: the option \"unit_rows\" is false, which the method \"pca\" alone can do; the method "
            "\"neighbors\" compares directions");
  EXPECT_EQ(error("1, NULL, 'abacus'").substr(0, 40), "glove_map: there is no backend 'abacus';");
  EXPECT_EQ(error("1, NULL, NULL, '{\"seed\":1}'"),
            "glove_map: unknown option \"seed\"; the options are: method, unit_rows");
  EXPECT_EQ(error("'[\"nothing\"]', NULL, NULL, '{\"method\":\"pca\"}'"),
            "glove_map: there is no row to compute principal components of");
}

}  // namespace
}  // namespace glove::testing
