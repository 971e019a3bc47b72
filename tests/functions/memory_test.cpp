// SQLite runs out of memory: each allocation of a statement fails in turn. The statement must end in
// SQLITE_NOMEM or return the right rows, leak nothing, and leave a connection that works.
#include <gtest/gtest.h>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

sqlite3_mem_methods real_methods;
long allocations_until_failure = -1;  // negative: none fails

// Counts an allocation and returns true if it must fail. After the failure the counter stays at 0, so that
// exactly one allocation fails and all later ones succeed.
bool must_fail() {
  if (allocations_until_failure <= 0) return false;
  return --allocations_until_failure == 0;
}

void* failing_malloc(int size) {
  return must_fail() ? nullptr : real_methods.xMalloc(size);
}

void* failing_realloc(void* block, int size) {
  return must_fail() ? nullptr : real_methods.xRealloc(block, size);
}

// Runs before main(), because SQLite accepts another allocator only before its first use.
const bool kInstalled = [] {
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_methods) != SQLITE_OK) return false;
  sqlite3_mem_methods methods = real_methods;
  methods.xMalloc = failing_malloc;
  methods.xRealloc = failing_realloc;
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK;
}();

class Memory : public TinyModelTest {
 protected:
  // Lets the first, second, ... allocation of the statement fail, until all of them have failed once.
  void fail_each_allocation(const std::string& setup, const std::string& sql,
                            const std::string& clean_up = "") {
    ASSERT_TRUE(kInstalled);
    Rows expected;
    long failures = 0;
    for (long countdown = 0;; ++countdown) {  // the first run has no failure and returns the right rows
      const sqlite3_int64 used = sqlite3_memory_used();
      {
        Connection fresh;
        // Without lookaside memory every allocation can fail.
        sqlite3_db_config(fresh.handle(), SQLITE_DBCONFIG_LOOKASIDE, nullptr, 0, 0);
        fresh.rows(setup);
        Rows rows;
        allocations_until_failure = countdown == 0 ? -1 : countdown;
        const int code = fresh.run(sql, rows);
        const bool failed = allocations_until_failure == 0;
        allocations_until_failure = -1;
        if (countdown == 0) expected = rows;
        EXPECT_TRUE(code == SQLITE_NOMEM || (code == SQLITE_OK && rows == expected))
            << sql << "\nallocation " << countdown << ": code " << code << ", "
            << sqlite3_errmsg(fresh.handle());
        EXPECT_EQ(fresh.value("SELECT cos_sim('king', 'king', 'tiny')"), "1");
        fresh.rows(clean_up);
        if (countdown > 0 && !failed) break;
        failures += failed;
      }
      EXPECT_EQ(sqlite3_memory_used(), used) << sql << "\nallocation " << countdown << " leaks";
      if (HasFailure()) return;
    }
    EXPECT_GT(failures, 0) << "no allocation was made to fail in " << sql;
  }
};

TEST_F(Memory, Functions) {
  fail_each_allocation("",
                       "SELECT cos_sim('king', word), cos_sim('king', vector) FROM glove_words WHERE id < 4");
  fail_each_allocation("", "SELECT cos_sim(CAST('king' AS TEXT), x'0000803f0000803f0000803f', 'tiny')");
  fail_each_allocation("", "SELECT glove_vec('king - man'), glove_oov('xx + king + \"y y\"')");
  fail_each_allocation("", "SELECT value FROM json_each(glove_oov('xx + yy'))");
  fail_each_allocation("", "SELECT glove_text_vec('the king'), glove_text_vec('a man', 'tiny', '{\"a\":1}')");
  fail_each_allocation("", "SELECT glove_mean(word, id + 1) OVER (ROWS 1 PRECEDING) FROM glove_words");
  fail_each_allocation("", "SELECT glove_expand('king', 3, 0, 'tiny')");
  fail_each_allocation("", "SELECT rowid, * FROM glove_tokens('the king and I', 'tiny', '{}')");
  fail_each_allocation("",
                       "SELECT glove_config('threads', '0'), glove_config('backend'), glove_version() <> ''");
}

TEST_F(Memory, Words) {
  for (const char* condition : {"id = 3", "word = 'king'", "word IN ('king', 'queen', 5)",
                                "word GLOB 'q*' AND word > 'a' AND word <= 'z'", "id BETWEEN 2 AND 4",
                                "model = 'tiny' AND id < 2", "model IN ('tiny') ORDER BY word"})
    fail_each_allocation("",
                         "SELECT id, word, norm, vector FROM glove_words WHERE " + std::string(condition));
}

TEST_F(Memory, SmallTables) {
  fail_each_allocation("", "SELECT name, path, words, backend, state FROM glove_models");
  fail_each_allocation("SELECT neighbor FROM glove_nn('king', NULL, 2)",
                       "SELECT model, backend, kind, queries FROM glove_stats LIMIT 1");
}

TEST_F(Memory, LoadTable) {
  const std::string setup =
      "CREATE TABLE tag(name TEXT, embedding);"
      "INSERT INTO tag VALUES ('red', x'0000803f00000000'), ('blue', '[0, 2.5]')";
  fail_each_allocation(setup,
                       "SELECT glove_load_table('t', 'SELECT name, embedding FROM tag', '{\"threads\":1}')");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_words('t')"), "2");
}

TEST_F(Memory, LoadAndUnload) {
  const std::string file = sql_text(folder.write("other.txt", "a 1 2\nb 2 3\n"));
  fail_each_allocation("", "SELECT glove_load(" + file + ", 'other', '{\"threads\":1}')");
  fail_each_allocation(
      "SELECT glove_load(" + file + ", 'other')", "SELECT glove_unload('other') IS NULL OR 1",
      "SELECT iif(count(*), glove_unload('other'), '') FROM glove_models WHERE name = 'other'");
}

}  // namespace
}  // namespace glove::testing
