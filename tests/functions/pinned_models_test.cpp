// A statement sees the models as they were when it began, whatever other connections do meanwhile.
#include <gtest/gtest.h>

#include <string>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

// Steps through one statement.
class Stepper {
 public:
  Stepper(Connection& connection, const std::string& sql) : connection_(connection) {
    EXPECT_EQ(sqlite3_prepare_v2(connection.handle(), sql.c_str(), -1, &statement_, nullptr), SQLITE_OK)
        << sqlite3_errmsg(connection.handle());
  }
  ~Stepper() { sqlite3_finalize(statement_); }

  // The row, its values joined by '|'; the message of an error; "" at the end.
  std::string step() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_DONE) return "";
    if (code != SQLITE_ROW) return sqlite3_errmsg(connection_.handle());
    std::string row;
    for (int i = 0; i < sqlite3_column_count(statement_); ++i) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, i));
      row += (i ? "|" : "") + std::string(text == nullptr ? "NULL" : text);
    }
    return row;
  }

 private:
  Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
};

class PinnedModels : public ::testing::Test {
 protected:
  void SetUp() override {
    unload_all(connection);
    load(connection, old_file);
    connection.rows("CREATE TABLE t(tag); INSERT INTO t VALUES ('a'), ('a'), ('a')");
  }
  void TearDown() override { unload_all(connection); }

  static void load(Connection& by, const std::string& file) {
    by.rows("SELECT glove_load(" + sql_text(file) + ", 'm')");
  }

  TemporaryFolder folder;
  // The nearest to 'a' is 'old' in one, and 'new' in the other.
  const std::string old_file = folder.write("old.txt", "a 1 0\nold 1 1\nnew 0 1\n");
  const std::string new_file = folder.write("new.txt", "a 1 0\nold 0 1\nnew 1 1\n");
  Connection connection;
  Connection other;
};

constexpr const char* kJoin = "SELECT n.neighbor FROM t CROSS JOIN glove_nn n ON n.word = t.tag AND n.k = 1";

TEST_F(PinnedModels, AJoinKeepsTheModelThatAnotherConnectionReplaces) {
  Stepper join(connection, kJoin);
  EXPECT_EQ(join.step(), "old");
  load(other, new_file);
  EXPECT_EQ(other.value("SELECT neighbor FROM glove_nn('a', NULL, 1)"), "new");
  EXPECT_EQ(join.step(), "old");
  EXPECT_EQ(join.step(), "old");
  EXPECT_EQ(join.step(), "");
}

TEST_F(PinnedModels, AJoinKeepsTheModelThatAnotherConnectionUnloads) {
  {
    Stepper join(connection, kJoin);
    EXPECT_EQ(join.step(), "old");
    other.rows("SELECT glove_unload('m')");
    EXPECT_EQ(join.step(), "old");
    EXPECT_EQ(join.step(), "old");
    EXPECT_EQ(join.step(), "");
  }
  EXPECT_NE(connection.error("SELECT neighbor FROM glove_nn('a', NULL, 1)").find("no model is loaded"),
            std::string::npos)
      << "the next statement sees what is";
}

TEST_F(PinnedModels, FunctionsUseTheModelsOfTheOpenCursor) {
  Stepper rows(
      connection,
      "SELECT w.word, round(cos_sim(w.word, w.word || '', 'm'), 2), hex(glove_vec(w.word || '', 'm')), "
      "glove_oov(w.word || '') FROM glove_words w WHERE w.id >= 0");
  const std::string first = rows.step();
  EXPECT_EQ(first.substr(0, 2), "a|");
  other.rows("SELECT glove_unload('m')");
  EXPECT_EQ(rows.step().substr(0, 8), "old|1.0|");
  EXPECT_EQ(rows.step().substr(0, 8), "new|1.0|");
  EXPECT_EQ(rows.step(), "");
}

TEST_F(PinnedModels, AnOpenCursorOfAnyStatementPinsTheConnection) {
  Stepper words(connection, "SELECT word FROM glove_words");
  EXPECT_EQ(words.step(), "a");
  load(other, new_file);
  EXPECT_EQ(connection.value("SELECT neighbor FROM glove_nn('a', NULL, 1)"), "old");
  EXPECT_EQ(other.value("SELECT neighbor FROM glove_nn('a', NULL, 1)"), "new");
}

TEST_F(PinnedModels, AModelThatIsTooNewIsRefusedWithTheReason) {
  {
    Stepper words(connection, "SELECT word FROM glove_words");
    EXPECT_EQ(words.step(), "a");
    other.rows("SELECT glove_load(" + sql_text(new_file) + ", 'late')");
    for (const char* const sql :
         {"SELECT count(*) FROM glove_words('late')", "SELECT cos_sim('a', 'new', 'late')",
          "SELECT neighbor FROM glove_nn WHERE word = 'a' AND model = 'late'"})
      EXPECT_EQ(connection.error(sql),
                "the model 'late' was loaded after a statement that is still open on this connection; "
                "finalize or reset that statement to use the model");
    EXPECT_EQ(connection.error("SELECT count(*) FROM glove_words('never')"),
              "there is no model 'never'; the loaded models are: 'm'");
  }
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_words('late')"), "3");
}

TEST_F(PinnedModels, WhatTheConnectionLoadsItSeesAtOnce) {
  Stepper join(connection, kJoin);
  EXPECT_EQ(join.step(), "old");
  load(connection, new_file);
  EXPECT_EQ(connection.value("SELECT neighbor FROM glove_nn('a', NULL, 1)"), "new");
  EXPECT_EQ(join.step(), "old") << "a statement that began before goes on with what it began with";
  connection.rows("SELECT glove_load_table('mine', 'VALUES (''x'', ''[1,0]''), (''y'', ''[1,1]'')')");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_words('mine')"), "2");
  connection.rows("SELECT glove_unload('mine')");
  EXPECT_NE(connection.error("SELECT count(*) FROM glove_words('mine')").find("no model 'mine'"),
            std::string::npos);
  other.rows("SELECT glove_unload('m')");
  EXPECT_EQ(connection.value("SELECT neighbor FROM glove_nn('a', NULL, 1)"), "new");
}

// Without a cursor of the extension, a constant keeps its model for the statement.
TEST_F(PinnedModels, AConstantKeepsItsModel) {
  connection.rows("DELETE FROM t; INSERT INTO t VALUES ('old'), ('old'), ('old')");
  for (const char* const function :
       {"round(cos_sim(tag, tag || '', 'm'), 2)", "round(cos_sim('old', tag), 2)"}) {
    load(connection, old_file);
    Stepper rows(connection, "SELECT " + std::string(function) + " FROM t");
    EXPECT_EQ(rows.step(), "1.0");
    other.rows("SELECT glove_unload('m')");
    EXPECT_EQ(rows.step(), "1.0") << function;
    EXPECT_EQ(rows.step(), "1.0") << function;
    EXPECT_EQ(rows.step(), "");
  }
}

TEST_F(PinnedModels, AClosedConnectionPinsNothing) {
  {
    Connection brief;
    Stepper words(brief, "SELECT word FROM glove_words");
    EXPECT_EQ(words.step(), "a");
  }
  Connection next;
  load(other, new_file);
  EXPECT_EQ(next.value("SELECT neighbor FROM glove_nn('a', NULL, 1)"), "new");
}

}  // namespace
}  // namespace glove::testing
