// glove_pca as SQL sees it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

class PcaTable : public ::testing::Test {
 protected:
  void SetUp() override {
    unload_all(connection);
    connection.rows("SELECT glove_load(" + sql_text(folder.write("cross.txt", kCrossAndNothing)) +
                    ", 'cross')");
  }
  void TearDown() override { unload_all(connection); }

  std::string error(const std::string& arguments) {
    return connection.error("SELECT * FROM glove_pca(" + arguments + ")");
  }

  // Interrupts the connection every millisecond while the statement runs.
  int run_interrupted(const std::string& sql) {
    std::atomic<bool> done = false;
    std::thread interrupter([&] {
      while (!done) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        sqlite3_interrupt(connection.handle());
      }
    });
    Rows rows;
    const int code = connection.run(sql, rows);
    done = true;
    interrupter.join();
    return code;
  }

  TemporaryFolder folder;
  Connection connection;
};

TEST_F(PcaTable, GivesTheMeanAndTheComponents) {
  EXPECT_EQ(connection.rows("SELECT component, round(3 * variance, 6), round(17 * ratio, 6), "
                            "round(singular_value * singular_value, 6), hex(vector) FROM glove_pca(2, 4)"),
            (Rows{{"0", "NULL", "NULL", "NULL", "000000400000803F"},
                  {"1", "32", "16", "32", "0000803F00000000"},
                  {"2", "2", "1", "2", "000000000000803F"}}));
}

TEST_F(PcaTable, ComponentsLimitsTheRows) {
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_pca"), "3");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_pca(NULL)"), "3");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_pca(0)"), "1");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_pca('1')"), "2");
  EXPECT_EQ(connection.rows("SELECT component FROM glove_pca(2) WHERE component = 2"), (Rows{{"2"}}));
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_pca WHERE (components = 2 AND words = 4) OR "
                             "(components = 1 AND words = 4) OR (components = 2 AND words = 3)"),
            "8");
}

TEST_F(PcaTable, WordsChooseTheRows) {
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_pca(2, 0)"), "0");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_pca(2, '[\"unknown\",null]')"), "0");
  EXPECT_EQ(connection.value("SELECT hex(vector) FROM glove_pca(1, '[\"north\",null,\"south\"]') "
                             "WHERE component = 1"),
            "000000000000803F");
  // All rows equal: the components have no variance, and their share of it is unknown.
  EXPECT_EQ(connection.rows("SELECT variance, ratio FROM glove_pca(1, 1) WHERE component = 1"),
            (Rows{{"0", "NULL"}}));
  // The same with unit rows, whose mean is rounded: one row, equal rows, rows of one direction.
  connection.rows(
      "SELECT glove_load_table('one way', 'VALUES (1, ''[1,2,3]''), (2, ''[1,2,3]''), (3, ''[3,6,9]''), (4, "
      "''[0,0,0]''), (5, ''[3,6,9.000001]'')')");
  for (const char* const words : {"1", "2", "3", "4"})
    EXPECT_EQ(connection.rows(std::string("SELECT variance, ratio, singular_value FROM glove_pca(1, ") +
                              words + ", 'one way', NULL, '{\"unit_rows\":true}') WHERE component = 1"),
              (Rows{{"0", "NULL", "0"}}))
        << words;
  EXPECT_EQ(connection.value("SELECT ratio > 0.9 FROM glove_pca(1, 5, 'one way', NULL, "
                             "'{\"unit_rows\":true}') WHERE component = 1"),
            "1")
      << "nearly equal rows are different";
}

TEST_F(PcaTable, OptionsSayWhatTheRowsAre) {
  EXPECT_EQ(connection.rows("SELECT component, hex(vector), round(singular_value * singular_value, 4) FROM "
                            "glove_pca(2, 4, NULL, NULL, '{\"center\":false}') WHERE component = 0"),
            (Rows{{"0", "0000000000000000", "NULL"}}));
  EXPECT_EQ(connection.value("SELECT round(sum(singular_value * singular_value), 4) FROM "
                             "glove_pca(2, NULL, NULL, NULL, '{\"center\":false}')"),
            "54");
  EXPECT_EQ(connection.value("SELECT round(sum(singular_value * singular_value), 4) FROM "
                             "glove_pca(2, NULL, NULL, NULL, '{\"center\":false,\"unit_rows\":true}')"),
            "4");
  EXPECT_EQ(connection.value(
                "SELECT round(sum(ratio), 6) FROM glove_pca(2, 4, 'cross', 'cpu', '{\"center\":true}')"),
            "1");
}

TEST_F(PcaTable, KeepsTheComponents) {
  const std::string count = "SELECT count(*) FROM glove_stats WHERE kind = 'pca'";
  const int before = std::stoi(connection.value(count));
  connection.rows("SELECT * FROM glove_pca(2, 4)");
  connection.rows("SELECT * FROM glove_pca(1, 4, 'cross')");
  connection.rows("SELECT * FROM glove_pca(1, 4, NULL, NULL, '{\"center\":true}')");
  EXPECT_EQ(std::stoi(connection.value(count)), before + 1);
  connection.rows("SELECT * FROM glove_pca(1, 4, NULL, NULL, '{\"center\":false}')");
  EXPECT_EQ(std::stoi(connection.value(count)), before + 2);
  connection.rows("SELECT * FROM glove_pca(1, 4, NULL, NULL, '{\"unit_rows\":true}')");
  EXPECT_EQ(std::stoi(connection.value(count)), before + 3);
  connection.rows("SELECT * FROM glove_pca(1, 3)");
  EXPECT_EQ(std::stoi(connection.value(count)), before + 4);
}

TEST_F(PcaTable, ErrorsNameTheInput) {
  EXPECT_EQ(error("2.5"), "glove_pca: components must be a non-negative integer, but is 2.5");
  EXPECT_EQ(error("-1"), "glove_pca: components must be a non-negative integer, but is -1");
  EXPECT_EQ(error("'all'"), "glove_pca: components must be a non-negative integer, but is 'all'");
  EXPECT_EQ(error("3"), "glove_pca: components is 3, but the model has only 2 dimensions");
  EXPECT_EQ(error("1, 'x'").substr(0, 27), "glove_pca: words is 'x', bu");
  EXPECT_EQ(error("1, 2, 'nosuch'"), "there is no model 'nosuch'; the loaded models are: 'cross'");
  EXPECT_EQ(error("1, 2, NULL, 'abacus'").substr(0, 40), "glove_pca: there is no backend 'abacus';");
  EXPECT_EQ(error("1, 2, NULL, NULL, '[]'"),
            "glove_pca: the options must be a JSON object such as {\"center\":false}, but are: []");
  EXPECT_EQ(error("1, 2, NULL, NULL, x'00'"), "glove_pca: the options must be JSON text, not a BLOB");
  EXPECT_EQ(error("1, 2, NULL, NULL, '{\"centre\":true}'"),
            "glove_pca: unknown option \"centre\"; the options are: center, unit_rows");
  EXPECT_EQ(error("1, 2, NULL, NULL, '{\"center\":1}'"),
            "glove_pca: option \"center\" is 1, but must be true or false");
  EXPECT_EQ(error("1, '[\"nothing\"]', NULL, NULL, '{\"unit_rows\":true}'"),
            "glove_pca: there is no row to compute principal components of");
  EXPECT_EQ(connection.error("SELECT words FROM glove_pca(2)").substr(0, 53),
            "glove_pca: SQLite passed no value for the input words");
}

TEST_F(PcaTable, ANumberMayBeText) {
  connection.rows("CREATE TABLE number(value NUMERIC)");
  for (const std::string text :
       {"1",  " 2 ", "+1", "-1", "1.0", "2.",  "1.5", ".1e1", "1E0", "10e-1", "1e",
        "e1", "",    " ",  ".",  "0x1", "1 1", "1,",  "nan",  "inf", "9e99",  "9223372036854775808"}) {
    connection.rows("DELETE FROM number; INSERT INTO number VALUES (" + sql_text(text) + ")");
    Rows expected, got;
    const int code =
        connection.run("SELECT count(*) FROM glove_pca((SELECT value FROM number), NULL, 'cross')", expected);
    EXPECT_EQ(connection.run("SELECT count(*) FROM glove_pca(" + sql_text(text) + ", NULL, 'cross')", got),
              code)
        << text;
    EXPECT_EQ(got, expected) << text;
  }
}

TEST_F(PcaTable, RefusesRowsThatAreTooWide) {
  connection.rows(
      "SELECT glove_load_table('wide', 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE "
      "i < 2049) SELECT ''a'', json_group_array(i) FROM c')");
  EXPECT_EQ(error("1, NULL, 'wide'"),
            "glove_pca: the model has 2049 dimensions; principal components are computed for at most 2048");
}

TEST_F(PcaTable, AnInterruptEndsTheComputation) {
  connection.rows(
      "SELECT glove_load_table('many', 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c "
      "WHERE i < 20000) SELECT i, zeroblob(1600) FROM c')");
  // An interrupt may come too early or too late, while SQLite parses or reads the rows, but not every time.
  bool stopped = false;
  for (int n = 20000; !stopped && n > 19950; --n) {
    const std::string computed = connection.value("SELECT count(*) FROM glove_stats WHERE kind = 'pca'");
    const int code = run_interrupted("SELECT count(*) FROM glove_pca(1, " + std::to_string(n) + ", 'many')");
    stopped = code == SQLITE_INTERRUPT &&
              connection.value("SELECT count(*) FROM glove_stats WHERE kind = 'pca'") == computed;
  }
  EXPECT_TRUE(stopped);
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_pca(2, NULL, 'cross')"), "3");
}

}  // namespace
}  // namespace glove::testing
