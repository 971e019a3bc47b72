// A database with indexes of every kind, which faults happen to, and what must hold of it afterwards.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/functions/connection.h"
#include "tests/sql/failing_allocator.h"

namespace glove::testing {

inline constexpr const char* kFaultModel =
    "the 1 0 0 1\nking 1 2 2 0\nqueen 1 2 3 0\nman 2 1 0 1\nwoman 2 1 1 -1\nzero 0 0 0 0\nParis 0 3 4 1\n"
    "far -2 -3 -1 0\n";

// What a statement changes besides the database, whose changes an error undoes.
enum class Changes { kDatabase, kProcess };

struct Statement {
  std::string sql;
  std::string before = "";  // executed first, without a fault
  Changes changes = Changes::kDatabase;
};

// Compares two states, and shows the first lines that differ.
inline ::testing::AssertionResult same(const std::string& seen, const std::string& expected) {
  if (seen == expected) return ::testing::AssertionSuccess();
  const auto [at, other] = std::mismatch(seen.begin(), seen.end(), expected.begin(), expected.end());
  const auto from = [](const std::string& text, size_t position) {
    const size_t line = position == 0 ? 0 : text.rfind('\n', position - 1) + 1;
    return text.substr(line, 200);
  };
  return ::testing::AssertionFailure()
         << "sees\n"
         << from(seen, static_cast<size_t>(at - seen.begin())) << "\nbut expected is\n"
         << from(expected, static_cast<size_t>(other - expected.begin()));
}

class FaultTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(install_failing_allocator()); }  // before SQLite is used

  void SetUp() override {
    model_ = sql_text(folder_.write("m.txt", kFaultModel));
    original_ = folder_.path("original");
    make_database();
  }

  void make_database() const {
    Connection db(original_);
    db.rows(
        "PRAGMA journal_mode = MEMORY; SELECT glove_load(" + model_ +
        ", 'm');"
        "CREATE TABLE doc(id INTEGER PRIMARY KEY, tag TEXT, e);"
        "CREATE TABLE listed(id INTEGER PRIMARY KEY, e);"
        "CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT);"
        "CREATE TABLE audit(what TEXT);"
        "WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 40) "
        "INSERT INTO doc SELECT i, 'tag ' || i % 3, json_array(i % 7 - 3, i % 11 - 5, i % 5, 1) FROM c;"
        "INSERT INTO listed SELECT id, json_array(id % 5 - 2, id % 3, id % 13 - 6, 2) FROM doc;"
        "INSERT INTO note VALUES (1, 'the king', 'a queen'), (2, 'Paris', NULL), (3, NULL, 'man and woman'), "
        "(4, '', 'far'), (5, 'king', 'the woman');"
        "CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', vector='e');"
        "CREATE VIRTUAL TABLE w USING glove_index(content='listed', rowid='id', vector='e', lists=2);"
        "CREATE VIRTUAL TABLE t USING glove_index(content='note', rowid='id', text='title, body', model='m');"
        "CREATE TRIGGER watch AFTER UPDATE ON doc BEGIN INSERT INTO audit VALUES (new.tag || old.id); END;"
        "UPDATE doc SET e = json_array(id, 1, -1, 2) WHERE id % 10 = 0;"
        "INSERT INTO doc VALUES (41, 'new', '[1,1,1,1]'), (42, 'empty', NULL); DELETE FROM doc WHERE id = 5;"
        "INSERT INTO v(v) VALUES ('sync');"
        "UPDATE doc SET e = json_array(id, -1, 3, 2) WHERE id % 9 = 0; DELETE FROM doc WHERE id = 7;"
        "DELETE FROM listed WHERE id = 3; INSERT INTO listed VALUES (50, '[2,2,2,2]');"
        "UPDATE note SET body = 'queen of Paris' WHERE id = 2; INSERT INTO note VALUES (6, 'woman', "
        "'king');");
  }

  void TearDown() override {
    Connection db;
    unload_all(db);
  }

  // Returns the rows of all statements as one text, one row per line.
  static std::string run(sqlite3* db, const std::string& sql, int* code) {
    std::string rows;
    const auto append = [](void* data, int columns, char** values, char**) {
      const AllocationsOfTheTest of_the_test;
      auto& text = *static_cast<std::string*>(data);
      for (int i = 0; i < columns; ++i) text += std::string(values[i] == nullptr ? "NULL" : values[i]) + '|';
      text += '\n';
      return 0;
    };
    *code = sqlite3_exec(db, sql.c_str(), append, &rows, nullptr);
    return rows;
  }

  static std::string must_run(sqlite3* db, const std::string& sql) {
    int code = SQLITE_OK;
    std::string rows = run(db, sql, &code);
    EXPECT_EQ(code, SQLITE_OK) << sqlite3_errmsg(db) << " in " << sql;
    return rows;
  }

  // What the connection sees. Expects that it is sound and that indexes answer as scans of their tables do.
  static std::string state(sqlite3* db) {
    EXPECT_EQ(must_run(db, "PRAGMA integrity_check"), "ok|\n");
    std::string all = must_run(db, "SELECT name, words FROM glove_models");
    const std::string schema = must_run(db, "SELECT type, name FROM sqlite_schema ORDER BY rowid");
    const auto has = [&](const std::string& name) {
      return schema.find("table|" + name + "|\n") != std::string::npos;
    };
    all += schema;
    for (const char* table : {"audit", "doc", "listed", "note"})
      if (has(table)) all += must_run(db, std::string("SELECT * FROM ") + table);
    for (const auto& [index, table, vector, query] :
         std::vector<std::array<std::string, 4>>{{"v", "doc", "e", "'[1,2,3,4]'"},
                                                 {"w", "listed", "e", "'[1,2,3,4]'"},
                                                 {"t", "note", "", "'king'"}}) {
      if (!has(index) || !has(table)) continue;
      must_run(db, "INSERT INTO " + index + "(" + index + ") VALUES ('integrity-check')");
      const std::string found =
          must_run(db, "SELECT id, similarity FROM " + index + " WHERE query = " + query + " ORDER BY rank");
      all += found;
      if (index == "t") continue;
      EXPECT_TRUE(same(found, must_run(db, "SELECT id, cos_sim(e, " + query + ") AS s FROM " + table +
                                               " WHERE s IS NOT NULL ORDER BY s DESC, id")));
    }
    return all;
  }

  sqlite3* open(const Statement& statement) {
    const std::string path = folder_.path("copy");
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(path + suffix);
    std::filesystem::copy_file(original_, path);
    for (const char* made : {"saved.safetensors"}) std::filesystem::remove(folder_.path(made));
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
    EXPECT_EQ(sqlite3_load_extension(db, GLOVE_EXTENSION, nullptr, nullptr), SQLITE_OK);
    must_run(db, "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
    for (const char* other : {"n", "d", "s"})
      must_run(db, std::string("SELECT glove_unload(name) FROM glove_models WHERE name = '") + other + "'");
    must_run(db, "SELECT glove_config('index_memory', 0), glove_load(" + model_ + ", 'm')");
    must_run(db, statement.before);
    return db;
  }

  TemporaryFolder folder_;
  std::string model_, original_;
};

}  // namespace glove::testing
