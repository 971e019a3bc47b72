// Every allocation that SQLite makes for a statement fails once, in turn; for statements with JSON every one
// that the thread of the test makes. The statement must then end in SQLITE_NOMEM or return the
// right rows, leak nothing, and leave a connection that works.
//
// A separate program, because SQLite's allocator can only be replaced before its first use.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/share.h"
#include "tests/sql/failing_allocator.h"

namespace glove::testing {

namespace {

class Memory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(install_failing_allocator()); }

  void SetUp() override {
    file_ = ::testing::TempDir() + "glove_memory_test_" + std::to_string(getpid()) + ".txt";
    std::ofstream(file_) << "king 1 2 2\nqueen 1 2 3\nman 2 1 0\nwoman 2 1 1\n";
  }
  void TearDown() override { std::remove(file_.c_str()); }

  // Returns all rows as one text, or "" with *code set.
  static std::string run(sqlite3* db, const std::string& sql, int* code) {
    std::string rows;
    const auto append = [](void* data, int columns, char** values, char**) {
      const AllocationsOfTheTest of_the_test;
      for (int i = 0; i < columns; ++i)
        *static_cast<std::string*>(data) += std::string(values[i] == nullptr ? "NULL" : values[i]) + ' ';
      return 0;
    };
    *code = sqlite3_exec(db, sql.c_str(), append, &rows, nullptr);
    return rows;
  }

  static sqlite3* open() {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
    EXPECT_EQ(sqlite3_load_extension(db, GLOVE_EXTENSION, nullptr, nullptr), SQLITE_OK);
    return db;
  }

  // Runs the statement with its first, second, ... allocation failing, until none fails.
  void fail_each_allocation(const std::string& before, const std::string& sql, const std::string& expected,
                            Allocations kind = Allocations::kSqlite) {
    for (long n = 0;; n += test::kShortShare == 1 ? 1 : 3) {
      ASSERT_LT(n, 100000) << "no end of allocations in " << sql;
      const long outstanding = live_sqlite_allocations();
      sqlite3* db = open();
      int code = SQLITE_OK;
      run(db, before, &code);
      ASSERT_EQ(code, SQLITE_OK) << sqlite3_errmsg(db) << " in " << before;
      FailingAllocations failing(kind, n);
      const std::string rows = run(db, sql, &code);
      failing.finish();
      if (code == SQLITE_OK)
        EXPECT_EQ(rows, expected) << "allocation " << n << " of " << sql;
      else
        EXPECT_EQ(code, SQLITE_NOMEM) << "allocation " << n << " of " << sql << ": " << sqlite3_errmsg(db);
      int next_code = SQLITE_OK;
      run(db, before, &next_code);
      EXPECT_EQ(run(db, sql, &next_code), expected) << "after allocation " << n << " had failed in " << sql;
      EXPECT_EQ(next_code, SQLITE_OK);
      ASSERT_EQ(sqlite3_close(db), SQLITE_OK);
      ASSERT_EQ(live_sqlite_allocations(), outstanding)
          << "leaked when allocation " << n << " failed in " << sql;
      if (!failing.failed()) return;
    }
  }

  std::string load() const { return "SELECT glove_load('" + file_ + "', 'm');"; }

  std::string file_;
};

TEST_F(Memory, 01_Opening) {
  for (long n = 0;; ++n) {
    const long outstanding = live_sqlite_allocations();
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
    FailingAllocations failing(Allocations::kSqlite, n);
    const int code = sqlite3_load_extension(db, GLOVE_EXTENSION, nullptr, nullptr);
    failing.finish();
    EXPECT_TRUE(failing.failed() || code == SQLITE_OK) << code;
    sqlite3_close(db);
    ASSERT_EQ(live_sqlite_allocations(), outstanding) << "leaked when allocation " << n << " failed";
    if (!failing.failed()) break;
  }
}

TEST_F(Memory, 02_Loading) {
  fail_each_allocation("SELECT 1", load(), "m ");
}

TEST_F(Memory, 03_Unloading) {
  fail_each_allocation(load(), "SELECT glove_unload('m') IS NULL OR 1", "1 ");
}

TEST_F(Memory, 04_Searching) {
  fail_each_allocation(load(), "SELECT neighbor, rank FROM glove_nn('king', NULL, 2)", "queen 1 woman 2 ");
  fail_each_allocation(load(), "SELECT neighbor FROM glove_nn('king') WHERE neighbor = 'woman' OR rank = 1",
                       "queen woman ");
  fail_each_allocation(
      load(), "SELECT neighbor FROM glove_nn('king') WHERE neighbor IN ('woman', 'x') LIMIT 5", "woman ");
}

TEST_F(Memory, 05_Batches) {
  fail_each_allocation(
      load(), "SELECT word, neighbor FROM glove_nn WHERE word IN ('king', 'man') AND k = 1 ORDER BY word",
      "king queen man woman ");
  fail_each_allocation(
      load(),
      "SELECT expr, neighbor FROM glove_nn WHERE expr IN ('king - man', 'man') AND k IN (1) ORDER BY expr",
      "king - man queen man woman ");
}

TEST_F(Memory, 06_Joins) {
  fail_each_allocation(
      load(),
      "WITH t(tag) AS (VALUES ('king'), ('man')) SELECT t.tag, n.neighbor FROM t LEFT JOIN glove_nn n ON "
      "n.word = t.tag AND n.k = 1",
      "king queen man woman ");
}

// An error whose message cannot be stored is still an error.
TEST_F(Memory, 07_Errors) {
  for (long n = 0;; ++n) {
    sqlite3* db = open();
    int code = SQLITE_OK;
    run(db, load(), &code);
    FailingAllocations failing(Allocations::kSqlite, n);
    run(db, "SELECT * FROM glove_nn('king', NULL, -1)", &code);
    failing.finish();
    EXPECT_TRUE(code == SQLITE_ERROR || code == SQLITE_NOMEM) << code;
    sqlite3_close(db);
    if (!failing.failed()) break;
  }
}

// Freeing what was read of a JSON text must not need memory.
TEST_F(Memory, 08_Json) {
  const auto check = [&](const std::string& sql, const std::string& expected) {
    fail_each_allocation(load(), sql, expected, Allocations::kThread);
  };
  check(R"(SELECT length(glove_text_vec('king', 'm', '{"a":0.5,"weights":"none","components":1}')))", "12 ");
  check(R"(SELECT token FROM glove_tokens('a king', 'm', '{"lower_case":false}'))", "a king ");
  check(R"(SELECT DISTINCT k FROM glove_kmeans(2, '["king","queen",null,"man",5]', 'm', 'cpu',
        '{"seed":1,"metric":"euclidean","n_init":1}'))",
        "2 ");
  check(R"(SELECT component FROM glove_pca(1, '["king","man","queen"]', 'm', 'cpu', '{"center":true}'))",
        "0 1 ");
  check(R"(SELECT glove_derive('d', '{"words":["king","man"],"fit":3,"normalize":true}', 'm'))", "d ");
  check(R"(SELECT glove_load_table('t', 'SELECT ''a'', ''[1, -2.5e0, 3]''', '{"threads":1}'))", "t ");
  check("SELECT glove_convolve('[[1,2],[3,4]]', '[[1,0.5,0]]')", "[[2.5,1.0],[5.5,2.0]] ");
  check(R"(SELECT glove_density(1, 2, '{"width":1,"height":2,"sigma":0,"extent":[0,0,2,3]}'))",
        "[[0.0],[1.0]] ");
  check(
      "SELECT glove_svg(x, y, label, 'g') LIKE '%</svg>%' FROM (SELECT 1 AS x, 2 AS y, 'a' AS label UNION "
      "ALL SELECT 3, 5, 'a label of its own')",
      "1 ");
  check(R"(SELECT glove_oov('king + "a ""b" - nosuchword', 'm'))", R"(["a \"b","nosuchword"] )");
}

TEST_F(Memory, 10_Toolbox) {
  const auto check = [&](const std::string& sql, const std::string& expected, const std::string& more = "") {
    fail_each_allocation(load() + more, sql, expected, Allocations::kThread);
  };
  check("SELECT cluster, size, length(centroid) FROM glove_clusters(2, 3, 'm', 'cpu')", "1 2 12 2 1 12 ");
  check("SELECT count(*) FROM glove_kmeans WHERE k IN (1, 2) AND words = 4 AND cluster = 1", "6 ");
  check("SELECT word FROM glove_map(4, 'm', 'cpu')", "king queen man woman ");
  check("SELECT count(x) FROM glove_map(4, 'm', 'cpu', '{\"method\":\"pca\"}')", "4 ");
  check("SELECT length(glove_atax(x'0000803f0000803f0000803f', 'm'))", "12 ");
  const std::string derive = "SELECT glove_derive('d', '{\"whiten\":true,\"dims\":2}', 'm')";
  check(derive, "d ");
  check("SELECT length(glove_project(x'0000803f0000803f0000803f', 'd'))", "8 ", derive + ";");
  check("SELECT glove_save('m', '" + file_ + ".safetensors') LIKE '%.safetensors'", "1 ");
  std::remove((file_ + ".safetensors").c_str());
}

// Errors name a value, which takes memory as well.
TEST_F(Memory, 09_JsonErrors) {
  const std::vector<std::string> statements = {
      R"(SELECT glove_text_vec('king', 'm', '{"a":[1,[2,{"x":[]}]]}'))",
      R"(SELECT glove_text_vec('king', 'm', '{"a":1,"an option that there is none":"2"}'))",
      R"(SELECT glove_text_vec('king', 'm', '{"a":[1,[2,{"x":[}'))",
      R"(SELECT word FROM glove_kmeans(2, '["king",["a"]]', 'm'))",
      R"(SELECT glove_derive('d', '{"fit":[[]],"center":true}', 'm'))",
      R"(SELECT glove_load_table('t', 'SELECT 1, ''[1, [2]]'''))",
      R"(SELECT glove_convolve('[[1,2],[3,{}]]', '[[1]]'))"};
  for (const std::string& sql : statements)
    for (long n = 0;; ++n) {
      ASSERT_LT(n, 100000) << "no end of allocations in " << sql;
      sqlite3* db = open();
      int code = SQLITE_OK;
      run(db, load(), &code);
      FailingAllocations failing(Allocations::kThread, n);
      run(db, sql, &code);
      failing.finish();
      EXPECT_TRUE(code == SQLITE_ERROR || code == SQLITE_NOMEM) << code << " of " << sql;
      sqlite3_close(db);
      if (!failing.failed()) break;
    }
}

}  // namespace
}  // namespace glove::testing
