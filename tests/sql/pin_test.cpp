// The rows of one statement come from one state of the models, whatever other connections load and unload
// meanwhile.
#include "tests/sql/nn_test.h"

namespace glove::testing {
namespace {

constexpr const char* kOther = "king 1 0 0\nman 0 1 0\nnew 1 1 0\nthe 0 0 1\n";

class Pin : public NnTest {
 protected:
  // Steps through the statement on a connection of its own; after the first row `change` runs.
  template <class Change>
  Rows rows_around(const std::string& sql, Change&& change) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(reader.handle(), sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(reader.handle());
    Rows rows;
    int code = SQLITE_OK;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
      Row row;
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        row.emplace_back(text == nullptr ? "NULL" : text);
      }
      rows.push_back(row);
      if (rows.size() == 1) change();
    }
    EXPECT_EQ(code, SQLITE_DONE) << sqlite3_errmsg(reader.handle());
    sqlite3_finalize(statement);
    return rows;
  }

  void SetUp() override {
    NnTest::SetUp();
    reader.rows("CREATE TABLE t(tag TEXT); INSERT INTO t VALUES ('king'), ('man'), ('the')");
  }
  void replace() { db.rows("SELECT glove_load(" + sql_text(folder.write("other.txt", kOther)) + ", 'm')"); }

  Connection reader;
};

constexpr const char* kJoins[] = {
    "SELECT t.tag, n.neighbor FROM t CROSS JOIN glove_nn n ON n.word = t.tag AND n.k = 2",
    "SELECT t.tag, n.neighbor FROM t CROSS JOIN glove_nn n ON n.word = t.tag AND n.k = 2 AND n.model = 'm'",
    "SELECT t.tag, n.neighbor FROM t CROSS JOIN glove_nn n ON (n.word = t.tag AND n.rank = 1) OR (n.word = "
    "t.tag AND "
    "n.rank = 2)",
    "SELECT t.tag, w.id, printf('%.6f', w.norm) FROM t CROSS JOIN glove_words w ON w.word = t.tag",
    "SELECT w.word, printf('%.6f', cos_sim(w.word, 'woman')) FROM glove_words w WHERE w.id < 3",
    "SELECT n.neighbor, (SELECT m.neighbor FROM glove_nn(n.neighbor, NULL, 1) m) FROM glove_nn('king', NULL, "
    "3) n",
};

TEST_F(Pin, 01_AModelThatIsReplaced) {
  for (const char* sql : kJoins) {
    const Rows expected = reader.rows(sql);
    EXPECT_GT(expected.size(), 2u) << sql;
    EXPECT_EQ(rows_around(sql, [this] { replace(); }), expected) << sql;
    EXPECT_NE(rows_around(sql, [] {}), expected) << sql;  // the next statement has the new model
    db.rows("SELECT glove_load(" + sql_text(folder.write("m.txt", kNnModel)) + ", 'm')");
  }
}

TEST_F(Pin, 02_AModelThatIsUnloaded) {
  for (const char* sql : kJoins) {
    const Rows expected = reader.rows(sql);
    EXPECT_EQ(rows_around(sql, [this] { unload_all(db); }), expected) << sql;
    EXPECT_NE(reader.error(sql).find("there is no model 'm'"), reader.error(sql).find("no model is loaded"))
        << sql;
    db.rows("SELECT glove_load(" + sql_text(folder.write("m.txt", kNnModel)) + ", 'm')");
  }
}

// A model that the connection loads itself is visible to its next statements, and not to running ones.
TEST_F(Pin, 03_TheConnectionsOwnLoads) {
  for (const char* sql : {kJoins[0], kJoins[1], kJoins[3]}) {
    const Rows expected = reader.rows(sql);
    const Rows rows = rows_around(sql, [this] {
      reader.rows("SELECT glove_load(" + sql_text(folder.write("other.txt", kOther)) + ", 'm')");
      EXPECT_EQ(reader.value("SELECT count(*) FROM glove_words"), "4");
      EXPECT_EQ(reader.value("SELECT count(*) FROM glove_nn('new')"), "3");
    });
    EXPECT_EQ(rows, expected) << sql;
    reader.rows("SELECT glove_load(" + sql_text(folder.write("m.txt", kNnModel)) + ", 'm')");
  }
}

TEST_F(Pin, 04_OtherConnectionsSeeTheNewModelAtOnce) {
  rows_around(kJoins[0], [this] {
    replace();
    Connection third;
    EXPECT_EQ(third.value("SELECT count(*) FROM glove_words"), "4");
    EXPECT_EQ(db.value("SELECT count(*) FROM glove_nn('new')"), "3");
    EXPECT_EQ(reader.value("SELECT count(*) FROM glove_words"), "12");  // its cursor is open
  });
  EXPECT_EQ(reader.value("SELECT count(*) FROM glove_words"), "4");
}

// Without a table of the extension, a function keeps the model that a constant names.
TEST_F(Pin, 05_FunctionsWithAConstantModel) {
  const std::string sql =
      "SELECT printf('%.6f', cos_sim(t.tag, 'the', 'm')), length(glove_vec(t.tag, 'm')), "
      "glove_oov('paris', 'm') FROM t";
  const Rows expected = reader.rows(sql);
  EXPECT_EQ(rows_around(sql, [this] { unload_all(db); }), expected);
  EXPECT_NE(reader.error(sql).find("no model is loaded"), std::string::npos);
}

}  // namespace
}  // namespace glove::testing
