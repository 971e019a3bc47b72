// glove_density and glove_convolve as SQL sees them.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

class DensityFunctions : public ::testing::Test {
 protected:
  void SetUp() override {
    connection.rows(
        "CREATE TABLE p(kind, x, y); INSERT INTO p VALUES ('a', 0, 0), ('a', 1, 1), ('a', NULL, 1), "
        "('b', 0, 0), ('b', '4', 0), ('b', 4, 2.0), ('c', NULL, NULL)");
  }
  Connection connection;
};

TEST_F(DensityFunctions, CountsPerGroup) {
  EXPECT_EQ(
      connection.rows("SELECT kind, glove_density(x, y, '{\"width\":2,\"height\":2,\"sigma\":0}') FROM p "
                      "GROUP BY kind"),
      (Rows{{"a", "[[1.0,0.0],[0.0,1.0]]"}, {"b", "[[1.0,1.0],[0.0,1.0]]"}, {"c", "NULL"}}));
  EXPECT_EQ(connection.value("SELECT glove_density(x, y) FROM p WHERE 0"), "NULL");
  EXPECT_EQ(connection.rows("SELECT json_array_length(g), json_array_length(g, '$[0]') FROM (SELECT "
                            "glove_density(x, y) AS g FROM p)"),
            (Rows{{"64", "64"}}));
  EXPECT_EQ(connection.value("SELECT glove_density(x, y, NULL) = glove_density(x, y) FROM p"), "1");
}

TEST_F(DensityFunctions, AnExtentLeavesOutThePointsOutside) {
  const auto density = [&](const std::string& extent) {
    return connection.value(
        "SELECT glove_density(column1, column2, '{\"width\":2,\"height\":2,\"sigma\":0,\"extent\":" + extent +
        "}') FROM (VALUES (0, 0), (1, 1), (3, 1), (9, 9), (-5, 2))");
  };
  EXPECT_EQ(density("[0,0,4,4]"), "[[2.0,1.0],[0.0,0.0]]");
  EXPECT_EQ(density("[0,0,4,2]"), "[[1.0,0.0],[1.0,1.0]]");
  EXPECT_EQ(density("[-6,1.5,10,10]"), "[[1.0,0.0],[0.0,1.0]]");
  EXPECT_EQ(density("[20,20,21,21]"), "[[0.0,0.0],[0.0,0.0]]");
}

TEST_F(DensityFunctions, WorkTogether) {
  EXPECT_EQ(
      connection.value("SELECT glove_convolve(glove_density(x, y, '{\"width\":3,\"height\":1,\"sigma\":0}'), "
                       "'[[1,1,1]]') FROM p WHERE kind = 'b'"),
      "[[1.0,3.0,2.0]]");
  EXPECT_EQ(connection.value(
                "SELECT glove_convolve(NULL, '[[1]]') IS NULL AND glove_convolve('[[1]]', NULL) IS NULL"),
            "1");
  EXPECT_EQ(connection.value("SELECT glove_convolve('[]', '[[1]]')"), "[]");
}

// Since SQLite 3.45 an index on an expression must not replace a function whose result is marked as JSON:
// json_array would quote the text of the index.
TEST_F(DensityFunctions, ResultsStayJsonWhereAnIndexHasThem) {
  if (sqlite3_libversion_number() < 3045000) GTEST_SKIP() << "SQLite " << sqlite3_libversion();
  connection.rows(
      "CREATE TABLE g(a); INSERT INTO g VALUES ('[[2]]'); CREATE INDEX i ON g(glove_convolve(a, '[[3]]'))");
  EXPECT_EQ(connection.value("SELECT json_array(glove_convolve(a, '[[3]]')) FROM g INDEXED BY i WHERE "
                             "glove_convolve(a, '[[3]]') > ''"),
            "[[[6.0]]]");
  EXPECT_EQ(
      connection.value("SELECT json_array(glove_density(x, y, '{\"width\":1,\"height\":1,\"sigma\":0}')) "
                       "FROM p WHERE kind = 'a'"),
      "[[[2.0]]]");
}

TEST_F(DensityFunctions, WorkInAnUntrustedSchema) {
  connection.rows(
      "PRAGMA trusted_schema = OFF; CREATE VIEW v AS SELECT glove_convolve('[[2]]', '[[3]]') AS g");
  EXPECT_EQ(connection.value("SELECT g FROM v"), "[[6.0]]");
}

// A progress handler asks to stop. SQLite itself calls it every 1,000 steps, and these statements have fewer.
TEST_F(DensityFunctions, AnInterruptEndsReadingAndWriting) {
  const std::string numbers = "'[[' || replace(hex(zeroblob(400000)), '00', '1,') || 'true]]'";
  for (const std::string& statement :
       {"SELECT glove_convolve(" + numbers + ", '[[1]]')", "SELECT glove_convolve('[[1]]', " + numbers + ")",
        std::string("SELECT length(glove_density(x, y, '{\"width\":1024,\"height\":1024,\"sigma\":0}')) "
                    "FROM p")}) {
    sqlite3_progress_handler(
        connection.handle(), 1000, [](void*) { return 1; }, nullptr);
    Rows rows;
    EXPECT_EQ(connection.run(statement, rows), SQLITE_INTERRUPT) << statement;
    sqlite3_progress_handler(connection.handle(), 0, nullptr, nullptr);
  }
  EXPECT_EQ(connection.error("SELECT glove_convolve(" + numbers + ", '[[1]]')"),
            "glove_convolve: row 1 of the grid has true where a number must be");
}

TEST_F(DensityFunctions, ErrorsNameTheValue) {
  const auto density = [&](const std::string& arguments) {
    return connection.error("SELECT glove_density(" + arguments + ") FROM p");
  };
  EXPECT_EQ(density("kind, y"), "glove_density: x is 'a', but must be a finite number");
  EXPECT_EQ(density("x, 9e999"), "glove_density: y is Inf, but must be a finite number");
  EXPECT_EQ(density("x, x'00'"), "glove_density: y is a BLOB, but must be a finite number");
  EXPECT_EQ(density("x, y, '{\"height\":2049}'"),
            "glove_density: option \"height\" is 2049, but must be an integer from 1 to 2048");
  EXPECT_EQ(density("x, y, '{\"sigma\":-1}'"),
            "glove_density: option \"sigma\" is -1, but must be a number from 0 to 100");
  for (const std::string extent : {"[0,0,0,1]", "[0,1,1,1]", "[1,0,0,1]", "[0,0,1]", "[0,0,\"1\",1]"})
    EXPECT_EQ(density("x, y, '{\"extent\":" + extent + "}'"),
              "glove_density: option \"extent\" is an array, but must be [x_min, y_min, x_max, y_max] with "
              "x_min < x_max and y_min < y_max")
        << extent;
  EXPECT_EQ(density("x, y, '{\"cells\":1}'"),
            "glove_density: unknown option \"cells\"; the options are: width, height, sigma, extent");
  EXPECT_EQ(density("x, y, 'x'"),
            "glove_density: the options must be a JSON object such as {\"width\":100}, but are: x");
  EXPECT_EQ(connection.error("SELECT glove_convolve('[[1e308]]', '[[10]]')"),
            "glove_convolve: a number of the result is too large");
  EXPECT_EQ(connection.error("SELECT glove_convolve('[1]', '[[10]]')"),
            "glove_convolve: row 1 of the grid must be an array of numbers, but is 1");
  EXPECT_EQ(connection.error("SELECT glove_convolve('[[1]]', x'00')"),
            "glove_convolve: the kernel must be text, not a BLOB; use CAST(... AS TEXT)");
}

}  // namespace
}  // namespace glove::testing
