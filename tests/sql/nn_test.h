// A small model and its whole relation as an ordinary table, for tests of glove_nn in SQL.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/functions/connection.h"

namespace glove::testing {

// Twelve words of three components. "Paris" and "paris" are as near to "king", "5" and "05" are the same
// vector, and "zero" has no direction.
constexpr const char* kNnModel =
    "the 1 0 0\n"
    "king 1 2 2\n"
    "queen 1 2 3\n"
    "man 2 1 0\n"
    "woman 2 1 1\n"
    "zero 0 0 0\n"
    "Paris 0 3 4\n"
    "paris 0 4 3\n"
    "5 1 1 0\n"
    "05 1 1 0\n"
    "o'neil -1 2 0\n"
    "far -2 -3 -1\n";

// kind and queries of each search that the process has made since one with this k, oldest first.
inline Rows searches_since(Connection& db, const std::string& k) {
  Rows made;
  for (const Row& row : db.rows("SELECT kind, queries, k FROM glove_stats")) {
    if (row[2] == k) break;
    made.insert(made.begin(), {row[0], row[1]});
  }
  return made;
}

// A connection with the model loaded as 'm' and nothing else, and the ordinary table r(neighbor,
// similarity, rank, word) with the relation of every word.
class NnTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unload_all(db);
    db.rows("SELECT glove_load(" + sql_text(folder.write("m.txt", kNnModel)) + ", 'm')");
    db.rows("CREATE TEMP TABLE r(neighbor TEXT, similarity REAL, rank INTEGER, word TEXT)");
    for (const Row& row : db.rows("SELECT word FROM glove_words"))
      db.rows("INSERT INTO r SELECT neighbor, similarity, rank, " + sql_text(row[0]) + " FROM glove_nn(" +
              sql_text(row[0]) + ")");
  }
  void TearDown() override { unload_all(db); }

  // The plan as SQLite explains it: one line per step, indented by two spaces per level.
  std::string plan(const std::string& sql) {
    std::string text;
    std::map<std::string, std::string> indents = {{"0", ""}};
    for (const Row& row : db.rows("EXPLAIN QUERY PLAN " + sql)) {
      const std::string indent = indents[row[1]];
      indents[row[0]] = indent + "  ";
      text += indent + row[3] + "\n";
    }
    return text;
  }

  // The statement over glove_nn returns the same rows in the same order as the one over r.
  void expect_same(const std::string& virtual_sql, const std::string& ordinary_sql) {
    const Rows expected = db.rows(ordinary_sql);
    EXPECT_FALSE(expected.empty()) << "nothing is compared by " << ordinary_sql;
    EXPECT_EQ(db.rows(virtual_sql), expected) << virtual_sql;
  }

  TemporaryFolder folder;
  Connection db;
};

}  // namespace glove::testing
