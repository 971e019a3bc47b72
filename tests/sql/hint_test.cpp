// The hints that glove_nn writes to SQLite's log about statements that are not errors.
#include <mutex>

#include "tests/sql/nn_test.h"

namespace glove::testing {
namespace {

std::mutex log_mutex;
std::vector<std::string> logged;

void keep(void*, int code, const char* message) {
  const std::lock_guard lock(log_mutex);
  if (code == SQLITE_WARNING) logged.emplace_back(message);
}

// SQLite accepts a log only before its first use.
const int configured = sqlite3_config(SQLITE_CONFIG_LOG, keep, nullptr);

class Hint : public NnTest {
 protected:
  // Returns what running the statement, which returns no rows, wrote to the log.
  std::vector<std::string> hints(const std::string& sql) {
    logged.clear();
    EXPECT_EQ(db.rows(sql), Rows()) << sql;
    return logged;
  }
  const std::vector<std::string> none_{};
};

TEST_F(Hint, 01_AWordThatReadsAsAnExpression) {
  ASSERT_EQ(configured, SQLITE_OK);
  const std::vector<std::string> expected = {
      "glove: glove_nn: the model has no word 'king - man + woman', which reads as an expression; write "
      "WHERE expr = "
      "'king - man + woman'"};
  EXPECT_EQ(hints("SELECT * FROM glove_nn('king - man + woman')"), expected);
  EXPECT_EQ(hints("SELECT * FROM glove_nn('king - man + woman', NULL, 5)"), expected);
  EXPECT_EQ(hints("SELECT * FROM glove_nn WHERE word IN ('king - man + woman', 'nobody') AND k = 2"),
            expected);
  EXPECT_EQ(hints("SELECT * FROM glove_nn WHERE word = 'king ' || '- man + woman'"), expected);
}

TEST_F(Hint, 02_OncePerStatement) {
  db.rows(
      "CREATE TEMP TABLE t(tag TEXT); INSERT INTO t VALUES ('king - man'), ('2 * king + man'), ('king - "
      "man')");
  EXPECT_EQ(hints("SELECT * FROM t JOIN glove_nn n ON n.word = t.tag").size(), 1u);
  EXPECT_EQ(hints("SELECT * FROM t JOIN glove_nn n ON n.word = t.tag AND n.k = 1").size(), 1u);
  EXPECT_EQ(hints("SELECT * FROM glove_nn n WHERE n.word IN (SELECT tag FROM t) AND n.k = 1").size(), 1u);
  EXPECT_EQ(
      hints("SELECT * FROM t CROSS JOIN glove_nn n ON (n.word = t.tag AND n.rank = 1) OR (n.word = t.tag AND "
            "n.rank = 2)")
          .size(),
      1u);
}

TEST_F(Hint, 03_NotForOtherWords) {
  for (const char* word : {"nobody", "well-known", "new york", "king -", "- man", "a + ", "C + + x", ""})
    EXPECT_EQ(hints("SELECT * FROM glove_nn(" + sql_text(word) + ")"), none_) << word;
  EXPECT_EQ(hints("SELECT * FROM glove_nn WHERE expr = 'king + nobody'"), none_);
  EXPECT_EQ(hints("SELECT * FROM glove_nn('king - man', '+ woman')"), none_);
}

TEST_F(Hint, 04_AMisspeltWord) {
  const std::vector<std::string> expected = {
      "glove: glove_nn: the model has no word 'kng'; the nearest is 'king'"};
  EXPECT_EQ(hints("SELECT * FROM glove_nn('kng')"), expected);
  EXPECT_EQ(hints("SELECT * FROM glove_nn WHERE word IN ('kng', 'kingg') AND k = 2").size(), 1u);
  for (const char* word : {"kking", "kinf", "ikng", "kin", "kingz"})
    EXPECT_EQ(hints("SELECT * FROM glove_nn(" + sql_text(word) + ")").size(), 1u) << word;
  for (const char* word : {"kgn", "k", "nobody"})
    EXPECT_EQ(hints("SELECT * FROM glove_nn(" + sql_text(word) + ")"), none_) << word;
}

TEST_F(Hint, 05_ManyChangesSinceTheLastSync) {
  const std::string path = folder.path("many.db");
  Connection writer(path);
  writer.rows(
      "CREATE TABLE doc(id INTEGER PRIMARY KEY, vec); CREATE VIRTUAL TABLE doc_vec USING "
      "glove_index(content='doc', rowid='id', vector='vec'); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL "
      "SELECT i + 1 FROM c WHERE i < 10000) INSERT INTO doc SELECT i, '[1]' FROM c");
  const auto logged_by_a_reader = [&] {
    Connection reader(path);
    logged.clear();
    for (int i = 0; i < 2; ++i) reader.rows("SELECT id FROM doc_vec WHERE query = '[1]' AND id = 0");
    return logged;
  };
  EXPECT_EQ(logged_by_a_reader(), none_);
  writer.rows("INSERT INTO doc VALUES (10001, '[1]')");
  EXPECT_EQ(logged_by_a_reader(),
            std::vector<std::string>{
                "glove: doc_vec: 10001 rows have changed since the last sync, and each connection reads "
                "them once; run INSERT INTO \"doc_vec\"(\"doc_vec\") VALUES ('sync')"});
}

}  // namespace
}  // namespace glove::testing
