// Which calls of the functions that read or write files, run SQL or change the process are refused:
// sql/adapter/direct_call.h. security_table_test.cpp has every object and place.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

constexpr int kDirectOnly = 3030000;  // the first SQLite that refuses them in views and triggers itself

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A statement that stays open after its first row.
class Cursor {
 public:
  Cursor(Connection& connection, const std::string& sql) {
    EXPECT_EQ(sqlite3_prepare_v2(connection.handle(), sql.c_str(), -1, &statement_, nullptr), SQLITE_OK)
        << sqlite3_errmsg(connection.handle());
    EXPECT_EQ(step(), SQLITE_ROW) << sqlite3_errmsg(connection.handle());
  }
  ~Cursor() { sqlite3_finalize(statement_); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  int step() { return sqlite3_step(statement_); }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

class DirectCall : public TinyModelTest {
 protected:
  // Adds a table to a file, also one that this SQLite refuses to create.
  static void add_table(const std::string& path, const std::string& name, const std::string& sql) {
    Connection maker(path, false);
    maker.rows("CREATE TABLE " + name +
               "(a, b); PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = " + sql_text(sql) +
               " WHERE name = " + sql_text(name));
  }

  // The message about a table whose text calls a function.
  static std::string names(const std::string& table, const std::string& schema, const std::string& called) {
    return "glove_config: the definition of '" + table + "' in the database \"" + schema + "\" calls " +
           called + ", which only a statement of the application may call; drop it, or detach the database";
  }
};

TEST_F(DirectCall, AnInsertIntoAHostileFileWritesNoFile) {
  const std::string victim = folder.write("victim", "precious");
  const std::string path = folder.path("hostile.db");
  add_table(path, "note",
            "CREATE TABLE note(a, b CHECK(glove_load_table('x', 'SELECT ''ssh-rsa'', ''[1]''') IS NOT NULL "
            "AND glove_save('x', " +
                sql_text(victim) + ") IS NOT NULL))");
  Connection opened(path);
  EXPECT_NE(opened.error("INSERT INTO note(b) VALUES ('hello')"), "");
  EXPECT_EQ(content_of(victim), "precious");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_models"), "1");
}

TEST_F(DirectCall, AnOpenCursorPermitsNothing) {
  Connection opened(folder.path("opened.db"));
  opened.rows("CREATE TABLE t(a); INSERT INTO t VALUES ('threads'), ('threads')");
  const std::string threads = opened.value("SELECT glove_config('threads')");
  {
    Cursor cursor(opened, "SELECT glove_config(a) FROM t");
    opened.rows("CREATE TEMP TABLE note(a CHECK(glove_config('threads', 3) IS NOT NULL))");
    EXPECT_EQ(opened.error("INSERT INTO note VALUES (1)"), names("note", "temp", "glove_config"));
    opened.rows("BEGIN");
    EXPECT_EQ(opened.error("INSERT INTO note VALUES (1)"), names("note", "temp", "glove_config"));
    opened.rows("COMMIT");
    EXPECT_EQ(opened.error("SELECT glove_config('threads')"), names("note", "temp", "glove_config"));
    EXPECT_EQ(cursor.step(), SQLITE_ERROR);
  }
  opened.rows("DROP TABLE note");
  EXPECT_EQ(opened.value("SELECT glove_config('threads')"), threads);
}

TEST_F(DirectCall, TheTablesOfEveryDatabaseCount) {
  const std::string path = folder.path("attached.db");
  add_table(path, "note", "CREATE TABLE note(a, b CHECK(GLOVE_Unload /* no */ ('tiny') IS NOT NULL))");
  Rows none;
  if (connection.run("ATTACH " + sql_text(path) + " AS \"other db\"", none) == SQLITE_CORRUPT)
    GTEST_SKIP() << "SQLite itself refuses the file";
  EXPECT_EQ(connection.error("SELECT glove_config('threads')"), names("note", "other db", "glove_unload"));
  connection.rows("DETACH \"other db\"");
  EXPECT_NE(connection.value("SELECT glove_config('threads')"), "");
}

// SQLite reads `$x(')` as a parameter, and older ones make a table of the text whatever its type is said to
// be.
TEST_F(DirectCall, ATableCannotHideItsCalls) {
  const std::string path = folder.path("hidden.db");
  add_table(path, "a", "CREATE TABLE a(a, b DEFAULT ($x(') || glove_config('threads')))");
  EXPECT_EQ(Connection(path).error("SELECT glove_config('threads')"), names("a", "main", "glove_config"));
  const std::string other = folder.path("disguised.db");
  add_table(other, "b", "CREATE TABLE b(a, b CHECK([glove_config]('threads') IS NOT NULL))");
  Connection(other, false).rows("PRAGMA writable_schema = ON; UPDATE sqlite_master SET type = 'view'");
  Connection disguised(other);
  EXPECT_NE(disguised.error("INSERT INTO b(b) VALUES (1)"), "");
  Rows objects;
  if (disguised.run("SELECT name FROM sqlite_master", objects) == SQLITE_OK) {
    EXPECT_EQ(disguised.error("SELECT glove_config('threads')"), names("b", "main", "glove_config"));
  }
}

TEST_F(DirectCall, NamesThatAreNoCallsDoNotCount) {
  connection.rows(
      "CREATE TABLE glove_config(a INTEGER PRIMARY KEY, glove_save, c DEFAULT 'glove_save(1)' /* "
      "glove_load() */);"
      "CREATE TABLE IF NOT EXISTS main.glove_save (a); CREATE TEMP TABLE IF NOT EXISTS \"glove_load\"(a);"
      "CREATE TABLE child(a REFERENCES glove_config(a)); INSERT INTO glove_save(a) VALUES (1)");
  EXPECT_NE(connection.value("SELECT glove_config('threads')"), "");
  EXPECT_EQ(connection.value("SELECT glove_unload('tiny')"), "tiny");
}

TEST_F(DirectCall, WorkHoweverAStatementWritesThem) {
  const std::string threads = connection.value("SELECT glove_config('threads')");
  for (const std::string call :
       {"glove_config('threads')", "GLOVE_Config ( 'threads' )", "\"glove_config\"('threads')",
        "[glove_config]('threads')", "`glove_config`('threads')", "glove_config/* ( */\n-- (\n('threads')",
        "(WITH c(v) AS (SELECT glove_config('threads')) SELECT v FROM c)",
        "(WITH glove_config(v) AS (SELECT 'threads') SELECT glove_config(v) FROM glove_config)"})
    EXPECT_EQ(connection.value("SELECT " + call), threads) << call;
  connection.rows(
      "CREATE TABLE glove_config(a);"
      "INSERT INTO glove_config(a) SELECT glove_config('threads');"
      "CREATE TABLE copy AS SELECT glove_config('threads') AS a, glove_config('threads');"
      "UPDATE copy SET a = glove_config('threads') WHERE glove_config('threads') = a");
  EXPECT_EQ(connection.value("SELECT a FROM copy"), threads);
  EXPECT_EQ(connection.value("SELECT a FROM glove_config"), threads);
}

// A TEMP view may call them where SQLite alone decides.
TEST_F(DirectCall, OnlyTheTextOfARunningStatementPermitsACall) {
  if (sqlite3_libversion_number() < kDirectOnly) GTEST_SKIP() << "such a view counts as a table does";
  const std::string refused =
      "glove_config: no statement that runs calls it in its own text; views, triggers, CHECK constraints and "
      "defaults must not call it; write SELECT glove_config(...)";
  connection.rows("CREATE TEMP VIEW v AS SELECT glove_config('threads') AS a; CREATE TABLE glove_config(a)");
  for (const std::string sql :
       {"SELECT a FROM v", "SELECT a FROM v -- glove_config('x')", "SELECT a, 'glove_config(''x'')' FROM v",
        "SELECT a /* glove_config('x') */ FROM v", "INSERT INTO glove_config(a) SELECT a FROM v",
        "INSERT INTO main . \"glove_config\" (a) SELECT a FROM v", "CREATE TABLE copy AS SELECT a FROM v",
        "WITH glove_config(a) AS (SELECT 1) SELECT v.a FROM v", "SELECT a, $glove_config(1) FROM v"})
    EXPECT_EQ(connection.error(sql), refused) << sql;
  {
    Cursor explained(connection, "; EXPLAIN SELECT glove_config('threads')");
    EXPECT_EQ(connection.error("SELECT a FROM v"), refused);
  }
  sqlite3_stmt* idle = nullptr;
  sqlite3_prepare_v2(connection.handle(), "SELECT glove_config('threads')", -1, &idle, nullptr);
  EXPECT_EQ(connection.error("SELECT a FROM v"), refused) << "a statement that does not run";
  sqlite3_finalize(idle);
  EXPECT_NE(connection.value("SELECT a IS glove_config('threads') FROM v"), "");
}

TEST_F(DirectCall, TheSelectOfGloveLoadTableMustNotCallThem) {
  EXPECT_EQ(connection.error("SELECT glove_load_table('x', 'SELECT glove_unload(''tiny''), ''[1]''') || "
                             "glove_unload('tiny')"),
            "glove_load_table: the SELECT failed: glove_unload: the SELECT must not call glove_unload");
  EXPECT_EQ(connection.value("SELECT glove_load_table('x', 'SELECT 1, ''[1]''')"), "x");
}

TEST_F(DirectCall, StatementsOfTheOldInterfaceAndInUtf16HaveATextToo) {
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare(connection.handle(), "SELECT glove_config('threads')", -1, &statement, nullptr),
            SQLITE_OK);
  EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
  sqlite3_finalize(statement);
  ASSERT_EQ(
      sqlite3_prepare16_v2(connection.handle(), u"SELECT glove_config('threads')", -1, &statement, nullptr),
      SQLITE_OK);
  EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
  sqlite3_finalize(statement);
}

// Of a database that the connection does not use, no table can call anything.
TEST_F(DirectCall, ADatabaseThatIsNotInUseNeitherBlocksNorIsPinned) {
  if (sqlite3_libversion_number() < 3034000) GTEST_SKIP() << "SQLite does not tell what is in use";
  const std::string path = folder.path("shared.db");
  Connection first(path), second(path);
  first.rows("PRAGMA journal_mode = WAL; CREATE TABLE t(a)");
  first.rows("BEGIN; SELECT glove_config('threads')");
  second.rows("INSERT INTO t VALUES (1)");
  first.rows("INSERT INTO t VALUES (2); COMMIT");
  Connection third;
  const std::string locked = folder.path("locked.db");
  Connection locker(locked);
  locker.rows("CREATE TABLE t(a)");
  third.rows("ATTACH " + sql_text(locked) + " AS locked");
  locker.rows("BEGIN EXCLUSIVE");
  EXPECT_NE(third.error("SELECT * FROM locked.t"), "");
  EXPECT_NE(third.value("SELECT glove_config('threads')"), "");
  locker.rows("COMMIT");
}

TEST_F(DirectCall, GloveSaveReplacesOnlyModelFiles) {
  const std::string path = folder.write("notes.txt", "precious");
  const std::string save = "SELECT glove_save('tiny', " + sql_text(path);
  EXPECT_EQ(connection.error(save + ")"),
            "'" + path +
                "' is not a model file, so glove_save does not replace it; choose "
                "another path, or pass the options '{\"overwrite\":true}'");
  EXPECT_NE(connection.error(save + ", NULL)"), "");
  EXPECT_NE(connection.error(save + ", '{\"overwrite\":false}')"), "");
  EXPECT_EQ(connection.error(save + ", '{\"overwrite\":1}')"),
            "glove_save: option \"overwrite\" is 1, but must be true or false");
  EXPECT_EQ(content_of(path), "precious");
  EXPECT_EQ(connection.value(save + ", '{\"overwrite\":true}')"), path);
  EXPECT_EQ(connection.value(save + ")"), path) << "it is a model file now";
  const std::string empty = folder.write("empty", "");
  EXPECT_NE(connection.error("SELECT glove_save('tiny', " + sql_text(empty) + ")"), "");
}

}  // namespace
}  // namespace glove::testing
