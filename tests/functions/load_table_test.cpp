// glove_load_table: an application's own embeddings as a model.
#include <gtest/gtest.h>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

class LoadTable : public TinyModelTest {
 protected:
  std::string load_error(const std::string& sql, const std::string& more = "") {
    return connection.error("SELECT glove_load_table('t', " + sql_text(sql) + more + ")");
  }
};

TEST_F(LoadTable, TakesBlobsAndJsonArrays) {
  connection.rows(
      "CREATE TABLE tag(name TEXT, embedding);"
      "INSERT INTO tag VALUES ('red', x'0000803f00000000'), ('blue', '[0, 2.5]'), ('Violet', '[1e0, 1]')");
  EXPECT_EQ(connection.value("SELECT glove_load_table('tags', 'SELECT name, embedding FROM tag')"), "tags");
  EXPECT_EQ(connection.rows("SELECT id, word, vector FROM glove_words('tags')"),
            (Rows{{"0", "red", "X'0000803F00000000'"},
                  {"1", "blue", "X'0000000000002040'"},
                  {"2", "Violet", "X'0000803F0000803F'"}}));
  EXPECT_EQ(connection.value("SELECT path FROM glove_models WHERE name = 'tags'"),
            "glove_load_table('tags')");
}

TEST_F(LoadTable, CopiesAModelBitForBit) {
  connection.rows("SELECT glove_load_table('copy', 'SELECT word, vector FROM glove_words(''tiny'')')");
  EXPECT_EQ(connection.rows("SELECT id, word, norm, vector FROM glove_words('copy')"),
            connection.rows("SELECT id, word, norm, vector FROM glove_words('tiny')"));
}

TEST_F(LoadTable, SeesTheCallersTransaction) {
  connection.rows("CREATE TABLE tag(name TEXT, embedding); BEGIN; INSERT INTO tag VALUES ('red', '[1]')");
  EXPECT_EQ(connection.value("SELECT glove_load_table('tags', 'SELECT * FROM tag')"), "tags");
  EXPECT_NE(
      connection.error("SELECT glove_load_table('tags', 'SELECT name, 5 FROM tag')").find("of type INTEGER"),
      std::string::npos);
  EXPECT_EQ(connection.value("SELECT count(*) FROM tag"), "1") << "an error must not roll back";
  connection.rows("ROLLBACK");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_words('tags')"), "1") << "the model is a copy";
}

TEST_F(LoadTable, KeepsTheFirstOfTwoRowsOfOneWord) {
  connection.rows(
      "SELECT glove_load_table('t', 'VALUES (''a'', ''[1]''), (''b'', ''[2]''), (''a'', ''[3]'')')");
  EXPECT_EQ(connection.rows("SELECT word, norm FROM glove_words('t')"), (Rows{{"a", "1"}, {"b", "2"}}));
}

TEST_F(LoadTable, RowErrorsNameTheRow) {
  const auto second = [this](const std::string& word, const std::string& vector) {
    return load_error("VALUES ('first', '[1, 0]'), (" + word + ", " + vector + ")");
  };
  const std::string row = "glove_load_table('t'): row 2 has ";
  EXPECT_EQ(second("NULL", "'[1, 0]'"), row + "a word of type NULL; a word must be TEXT or INTEGER");
  EXPECT_EQ(second("5", "'[1, 0]'"),
            row + "the INTEGER word 5, but the rows before have TEXT words; use one type");
  EXPECT_EQ(second("'w'", "NULL"),
            row + "a vector of type NULL; a vector must be a BLOB of float32 or a JSON array");
  EXPECT_EQ(second("'w'", "1.5"),
            row + "a vector of type REAL; a vector must be a BLOB of float32 or a JSON array");
  EXPECT_EQ(second("'w'", "x'0000803f00'"),
            row + "a vector of 5 bytes; a float32 vector has 4 bytes per component");
  EXPECT_EQ(second("'w'", "'1, 0'"), row + "a TEXT vector that is not a JSON array");
  EXPECT_EQ(second("'w'", "'[1, null]'"), row + "a vector whose component 2 is null, which is not a number");
  EXPECT_EQ(second("'w'", "'[1]'"), row + "a vector of 1 component, but the rows before have 2");
  EXPECT_EQ(second("'w'", "x'0000803f'"), row + "a vector of 1 component, but the rows before have 2");
  EXPECT_EQ(second("''", "'[1, 0]'"), row + "an empty word");
  EXPECT_NE(second("'w'", "'[1, 1e300]'").find(row + "a component, number 2, that is "), std::string::npos);
  EXPECT_NE(second("'w'", "x'0000c07f00000000'").find(row + "a component, number 1, that is "),
            std::string::npos);
  EXPECT_EQ(connection.rows("SELECT name FROM glove_models"), (Rows{{"tiny"}}));
}

TEST_F(LoadTable, StatementErrors) {
  EXPECT_EQ(
      load_error("SELECT 1"),
      "glove_load_table: the SELECT must return two columns, the word and its vector, or a third with its "
      "frequency, but returns 1");
  EXPECT_EQ(load_error(" -- nothing"),
            "glove_load_table: the SQL is empty; write SELECT word, vector FROM ...");
  EXPECT_EQ(load_error("SELECT 1, 2; SELECT 3, 4"),
            "glove_load_table: the SQL has more than one statement; write one SELECT");
  EXPECT_EQ(load_error("DELETE FROM sqlite_schema RETURNING 1, 2").rfind("glove_load_table: ", 0), 0U);
  connection.rows("CREATE TABLE w(a, b)");
  EXPECT_EQ(load_error("INSERT INTO w VALUES ('a', '[1]') RETURNING a, b"),
            "glove_load_table: the SQL writes to the database; write one SELECT");
  EXPECT_EQ(load_error("SELECT a, nosuch FROM w"),
            "glove_load_table: the SELECT failed: no such column: nosuch");
  EXPECT_EQ(load_error("SELECT 'a', abs(-9223372036854775808)"),
            "glove_load_table: the SELECT failed: integer overflow");
  EXPECT_EQ(load_error("SELECT a, b FROM w"), "glove_load_table('t'): there is no row to make a model of");
  EXPECT_EQ(
      connection.value("SELECT glove_load_table('t', 'SELECT ''a'', ''[1]'' ; -- a comment may follow')"),
      "t");
}

TEST_F(LoadTable, ArgumentErrors) {
  EXPECT_EQ(connection.error("SELECT glove_load_table(NULL, 'SELECT 1, 2')"),
            "glove_load_table: the name must be text, not NULL");
  EXPECT_EQ(connection.error("SELECT glove_load_table('', 'SELECT 1, 2')"),
            "glove_load_table: the name must not be empty");
  EXPECT_EQ(connection.error("SELECT glove_load_table('t', NULL)"),
            "glove_load_table: the SQL must be text, not NULL");
  EXPECT_EQ(load_error("SELECT 1, 2", ", '{\"verify\":true}'"),
            "glove_load_table: unknown option \"verify\"; the options are: metric, threads");
  EXPECT_EQ(connection.value("SELECT glove_load_table('t', 'SELECT ''a'', ''[1]''', '{\"threads\":1}')"),
            "t");
}

// SQL that comes from a table can call itself; without a limit it would recurse until the stack is used up.
TEST_F(LoadTable, RefusesASelectThatLoadsATableItself) {
  connection.rows(
      "CREATE TABLE q(sql TEXT);"
      "INSERT INTO q VALUES ('SELECT glove_load_table(''again'', sql), x''0000803f'' FROM q')");
  EXPECT_EQ(
      connection.error("SELECT glove_load_table('t', sql) FROM q"),
      "glove_load_table: the SELECT failed: glove_load_table: the SELECT must not call glove_load_table");
  EXPECT_EQ(connection.value("SELECT glove_load_table('t', 'VALUES (''a'', ''[1]'')')"), "t")
      << "a refusal ends with its call";
  EXPECT_EQ(connection.rows("SELECT name FROM glove_models"), (Rows{{"tiny"}, {"t"}}));
}

TEST_F(LoadTable, RefusesSqlThatGoesOnAfterANul) {
  EXPECT_EQ(connection.error("SELECT glove_load_table('t', 'SELECT 1, 2' || char(0) || 'FROM nosuch')"),
            "glove_load_table: the SQL must not contain a NUL byte");
}

}  // namespace
}  // namespace glove::testing
