// What a database file may do with the extension: docs/sql.md, "Security".
#include <gtest/gtest.h>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

constexpr const char* kDirectOnlyNames[] = {"glove_load('f')",         "glove_unload('m')",
                                            "glove_config('threads')", "glove_load_table('m', 'SELECT 1, 2')",
                                            "glove_derive('m', '{}')", "glove_save('m', 'f')"};
constexpr const char* kReading[] = {
    "cos_sim('king', 'queen')",          "length(glove_vec('king'))", "glove_oov('king')",
    "glove_project(NULL, NULL) IS NULL", "glove_atax(NULL) IS NULL",  "glove_version() <> ''",
    "length(glove_text_vec('king'))",    "glove_expand('king', 1)"};

std::string function_of(const std::string& call) {
  const size_t length = call.rfind("length(", 0) == 0 ? 7 : 0;
  return call.substr(length, call.find('(', length) - length);
}

class Security : public TinyModelTest {};

TEST_F(Security, WhatOpensFilesOrChangesTheProcessIsDirectOnly) {
  connection.rows("CREATE TABLE t(a)");
  for (const std::string call : kDirectOnlyNames) {
    const std::string expected = "unsafe use of " + function_of(call) + "()";
    connection.rows("CREATE VIEW v AS SELECT " + call);
    EXPECT_EQ(connection.error("SELECT * FROM v"), expected);
    connection.rows("DROP VIEW v; CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT " + call + "; END");
    EXPECT_EQ(connection.error("INSERT INTO t VALUES (1)"), expected);
    connection.rows("DROP TRIGGER r");
    EXPECT_EQ(connection.error("CREATE TABLE g(a, b AS (" + call + "))"),
              "non-deterministic functions prohibited in generated columns");
    EXPECT_EQ(connection.error("CREATE INDEX i ON t(" + call + ")"),
              "non-deterministic functions prohibited in index expressions");
  }
}

TEST_F(Security, TheRestWorksInViewsAndTriggers) {
  connection.rows("CREATE TABLE t(a); CREATE TABLE log(a)");
  for (const std::string call : kReading) {
    connection.rows("CREATE VIEW v AS SELECT " + call + " AS a");
    EXPECT_EQ(connection.rows("SELECT a FROM v"), connection.rows("SELECT " + call));
    connection.rows("DROP VIEW v; CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO log SELECT " + call +
                    "; END; INSERT INTO t VALUES (1)");
    EXPECT_EQ(connection.rows("SELECT a FROM log"), connection.rows("SELECT " + call));
    connection.rows("DROP TRIGGER r; DELETE FROM log");
  }
  connection.rows("CREATE VIEW words AS SELECT word FROM glove_words WHERE id < 2");
  EXPECT_EQ(connection.rows("SELECT * FROM words"), (Rows{{"the"}, {"king"}}));
  connection.rows("CREATE VIEW models AS SELECT name FROM glove_models");
  EXPECT_EQ(connection.rows("SELECT * FROM models"), (Rows{{"tiny"}}));
  connection.rows(
      "CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO log SELECT id FROM glove_words WHERE word = "
      "new.a; "
      "END; INSERT INTO t VALUES ('queen')");
  EXPECT_EQ(connection.value("SELECT a FROM log"), "2");
}

TEST_F(Security, DeterministicFunctionsWorkInGeneratedColumns) {
  connection.rows(
      "CREATE TABLE pair(a TEXT, b TEXT, similarity REAL AS (cos_sim(a, b)) STORED, v AS (glove_vec(a)), "
      "missing AS (glove_oov(a)), CHECK (missing = '[]'));"
      "CREATE INDEX by_similarity ON pair(cos_sim(a, 'queen'));"
      "INSERT INTO pair(a, b) VALUES ('king', 'king'), ('man', 'zero')");
  EXPECT_EQ(connection.rows("SELECT a, similarity, length(v) FROM pair"),
            (Rows{{"king", "1", "12"}, {"man", "NULL", "12"}}));
  EXPECT_NE(connection.error("INSERT INTO pair(a, b) VALUES ('nosuchword', 'king')")
                .find("CHECK constraint failed"),
            std::string::npos);
  EXPECT_EQ(connection.value("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(connection.error("CREATE TABLE g(a, b AS (glove_version()))"),
            "non-deterministic functions prohibited in generated columns");
}

TEST_F(Security, AnUntrustedSchemaMayUseNothing) {
  connection.rows("CREATE TABLE t(a); PRAGMA trusted_schema = OFF");
  for (const std::string call : kReading) {
    const std::string expected = "unsafe use of " + function_of(call) + "()";
    connection.rows("CREATE VIEW v AS SELECT " + call);
    EXPECT_EQ(connection.error("SELECT * FROM v"), expected);
    connection.rows("DROP VIEW v");
    EXPECT_NE(connection.rows("SELECT " + call), Rows{}) << "direct use stays possible";
  }
  for (const std::string table : {"glove_nn", "glove_words", "glove_models", "glove_stats"}) {
    connection.rows("CREATE VIEW v AS SELECT * FROM " + table);
    EXPECT_EQ(connection.error("SELECT * FROM v"), "unsafe use of virtual table \"" + table + "\"");
    connection.rows("DROP VIEW v");
  }
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_words"), "8");
  EXPECT_EQ(connection.value("SELECT glove_unload('tiny')"), "tiny")
      << "direct use of direct-only functions, too";
}

TEST_F(Security, DefensiveModeChangesNothing) {
  ASSERT_EQ(sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr), SQLITE_OK);
  EXPECT_EQ(connection.value("SELECT cos_sim('king', 'king')"), "1");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_words"), "8");
  EXPECT_EQ(connection.value("SELECT neighbor FROM glove_nn('king', NULL, 1)"), "queen");
  EXPECT_EQ(connection.value("SELECT glove_load_table('t', 'SELECT word, vector FROM glove_words')"), "t");
  EXPECT_EQ(connection.value("SELECT glove_unload('t')"), "t");
}

}  // namespace
}  // namespace glove::testing
