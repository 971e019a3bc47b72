// Allocations that fail in statements and commands of every kind, once and from then on: of SQLite, of the
// thread, and of all threads. The statement then ends in SQLITE_NOMEM or returns the right rows, the database
// and its indexes are as before or as after it, the same statement succeeds once there is memory, and nothing
// leaks (C++'s memory: LeakSanitizer in the builds that have it).
//
// Of each statement the first allocations fail and random ones of the others, GLOVE_TEST_ALLOCATIONS in all.
// `stacks` has the first allocation fail that each stack of calls makes, and `all` has each fail.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/share.h"
#include "tests/sql/failing_allocator.h"
#include "tests/sql/fault_database.h"

namespace glove::testing {
namespace {

// Fills caches and makes the state of each index, as statements before the tried one do.
constexpr const char* kWarmUp =
    "; SELECT neighbor FROM glove_nn('woman', NULL, 2); SELECT id FROM v WHERE query = '[4,3,2,1]' AND k = "
    "3; SELECT id "
    "FROM w WHERE query = '[4,3,2,1]' AND k = 3; SELECT id FROM t WHERE query = 'woman' AND k = 3; SELECT "
    "glove_text_vec('far Paris'); SELECT rank FROM v WHERE query = '[4,3,2,1]' AND id = 3";

// The attempt that runs, for a message if it crashes.
char g_attempt[512];

[[maybe_unused]] void report_crash(int signal) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, g_attempt, std::strlen(g_attempt));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

uint64_t seed() {
  const char* const text = std::getenv("GLOVE_TEST_SEED");
  return text == nullptr ? std::random_device{}() : std::strtoull(text, nullptr, 10);
}

std::string setting() {
  const char* const text = std::getenv("GLOVE_TEST_ALLOCATIONS");
  return text == nullptr ? "" : text;
}

// The numbers of the allocations to fail: the first ones, and random ones, `most` in all unless
// GLOVE_TEST_ALLOCATIONS says which. `stacks` may be empty.
std::vector<long> chosen(long allocations, std::mt19937_64& random, long most,
                         const std::vector<uint64_t>& stacks = {}) {
  std::set<long> numbers;
  if (setting() == "stacks" && !stacks.empty()) {
    std::set<uint64_t> seen;
    for (size_t n = 0; n < stacks.size(); ++n)
      if (seen.insert(stacks[n]).second) numbers.insert(static_cast<long>(n));
    return {numbers.begin(), numbers.end()};
  }
  if (!setting().empty())
    most = setting() == "all" || setting() == "stacks" ? allocations : std::stol(setting());
  for (long n = 0; n < std::min(allocations, most / 4); ++n) numbers.insert(n);
  while (static_cast<long>(numbers.size()) < std::min(most, allocations))
    numbers.insert(static_cast<long>(random() % static_cast<uint64_t>(allocations)));
  return {numbers.begin(), numbers.end()};
}

class AllocationsTest : public FaultTest {
 protected:
  void SetUp() override {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) std::signal(signal, report_crash);
#endif
    FaultTest::SetUp();
  }

  struct Reference {
    std::string before, rows, after;
    long allocations = 0;
    std::vector<uint64_t> stacks{};
  };

  Reference refer(const Statement& statement, Allocations kind) {
    Reference reference;
    sqlite3* db = open(statement);
    reference.before = state(db);
    sqlite3_close(db);
    db = open(statement);
    int code = SQLITE_OK;
    FailingAllocations none(kind, 1L << 60);
    if (setting() == "stacks") none.collect_stacks(reference.stacks);
    reference.rows = run(db, statement.sql, &code);
    none.finish();
    EXPECT_EQ(code, SQLITE_OK) << sqlite3_errmsg(db) << " in " << statement.sql;
    reference.allocations = none.count();
    reference.after = state(db);
    sqlite3_close(db);
    return reference;
  }

  void attempt(const Statement& statement, const Reference& reference, Allocations kind, long n,
               bool for_good) {
    std::snprintf(g_attempt, sizeof g_attempt, "%sallocation %ld of %ld of %s in %.380s\n",
                  for_good ? "from then on, " : "", n, reference.allocations, kKinds[static_cast<int>(kind)],
                  statement.sql.c_str());
    SCOPED_TRACE(g_attempt);
    const long live = live_sqlite_allocations();
    sqlite3* db = open(statement);
    int code = SQLITE_OK;
    FailingAllocations failing(kind, n, for_good);
    const std::string rows = run(db, statement.sql, &code);
    failing.finish();
    if (code == SQLITE_OK)
      EXPECT_EQ(rows, reference.rows);
    else
      // If its own memory runs out between a row and the callback, sqlite3_exec() returns SQLITE_ROW, and the
      // connection has the error.
      EXPECT_EQ((code == SQLITE_ROW ? sqlite3_errcode(db) : code) & 0xff, SQLITE_NOMEM) << sqlite3_errmsg(db);
    ++codes_[code == SQLITE_OK];
    if (sqlite3_get_autocommit(db) == 0) must_run(db, "ROLLBACK");
    const std::string seen = state(db);
    if (code == SQLITE_OK)
      EXPECT_TRUE(same(seen, reference.after));
    else if (seen == reference.before || statement.changes == Changes::kDatabase)
      EXPECT_TRUE(same(seen, reference.before));
    else
      EXPECT_TRUE(same(seen, reference.after));
    if (seen == reference.before) {
      EXPECT_EQ(must_run(db, statement.sql), reference.rows) << "again";
      EXPECT_TRUE(same(state(db), reference.after)) << "again";
    }
    EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
    EXPECT_EQ(live_sqlite_allocations(), live) << "leaked";
  }

  void fail_allocations(const std::vector<Statement>& statements, long most = test::kShare == 1 ? 4 : 1) {
    const uint64_t chosen_seed = seed();
    SCOPED_TRACE("GLOVE_TEST_SEED=" + std::to_string(chosen_seed));
    std::mt19937_64 random(chosen_seed);
    // The short form tries every fifth, from a random one on.
    const auto step = static_cast<size_t>(test::kShortStep);
    for (size_t at = chosen_seed % std::min(step, statements.size()); at < statements.size(); at += step)
      for (const auto& [kind, warm] :
           {std::pair{Allocations::kSqlite, false}, std::pair{Allocations::kThread, false},
            std::pair{Allocations::kThread, true}, std::pair{Allocations::kProcess, false}}) {
        Statement tried = statements[at];
        if (warm) tried.before += kWarmUp;
        const Reference reference = refer(tried, kind);
        for (const bool for_good : {false, true}) {
          const std::vector<long> numbers = chosen(reference.allocations, random, most, reference.stacks);
          if (!setting().empty())
            std::cout << numbers.size() << " of " << reference.allocations << " allocations of "
                      << kKinds[static_cast<int>(kind)] << (warm ? " after others in " : " in ")
                      << tried.sql.substr(0, 90) << std::endl;
          for (const long n : numbers) attempt(tried, reference, kind, n, for_good);
        }
      }
    EXPECT_GT(codes_[0], 0);
  }

  static constexpr const char* kKinds[] = {"SQLite", "the thread", "the process"};
  long codes_[2] = {0, 0};
};

// Tells a process what happened in a child of it.
struct Outcome {
  long allocations;
  const char* wrong;  // a literal, or null
};

// What happens for the first time in a process, each time in one of its own: its statics are made, and freed
// if that fails.
class FirstTimes : public FaultTest {
 protected:
  void SetUp() override {
    model_ = sql_text(folder_.write("m.txt", kFaultModel));
    original_ = folder_.path("original");
    outcome_ = static_cast<Outcome*>(
        mmap(nullptr, sizeof(Outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    in_a_child([this] { make_database(); });
  }
  void TearDown() override { munmap(outcome_, sizeof(Outcome)); }

  template <class Work>
  void in_a_child(const Work& work) {
    *outcome_ = {};
    const pid_t child = fork();
    if (child == 0) {
      work();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(outcome_->wrong, nullptr) << outcome_->wrong;
  }

  static int load(sqlite3* db) { return sqlite3_load_extension(db, GLOVE_EXTENSION, nullptr, nullptr); }

  static int execute(sqlite3* db, const std::string& sql) {
    return sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
  }

  // An empty text stands for loading the extension.
  void try_statement(const std::string& sql, long n, bool for_good) {
    sqlite3* db = nullptr;
    const char*& wrong = outcome_->wrong;
    if (sqlite3_open(original_.c_str(), &db) != SQLITE_OK) wrong = "cannot open the database";
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
    if (!sql.empty() &&
        (load(db) != SQLITE_OK || execute(db, "SELECT glove_config('index_memory', 1); SELECT glove_load(" +
                                                  model_ + ", 'm')") != SQLITE_OK))
      wrong = "cannot load";
    FailingAllocations failing(Allocations::kProcess, n, for_good);
    const int code = sql.empty() ? load(db) : execute(db, sql);
    failing.finish();
    outcome_->allocations = failing.count();
    if (code != SQLITE_OK && !failing.failed()) wrong = "fails without a reason";
    if (code == SQLITE_OK && sql.empty() && failing.failed() && for_good) wrong = "loads without memory";
    if (sql.empty() && load(db) != SQLITE_OK) wrong = "cannot load after a failure";
    if (execute(db, sql.empty() ? "SELECT glove_version()" : sql) != SQLITE_OK)
      wrong = "fails after a failure";
    if (sqlite3_close(db) != SQLITE_OK) wrong = "cannot close";
  }

  Outcome* outcome_ = nullptr;
};

TEST_F(FirstTimes, EndWithoutMemory) {
  const uint64_t chosen_seed = seed();
  SCOPED_TRACE("GLOVE_TEST_SEED=" + std::to_string(chosen_seed));
  std::mt19937_64 random(chosen_seed);
  for (const char* sql : {"", "SELECT neighbor FROM glove_nn('king', NULL, 2)",
                          "SELECT id FROM v WHERE query = '[1,2,3,4]' AND k = 3",
                          "SELECT id FROM w WHERE query = '[1,2,3,4]' AND k = 3",
                          "SELECT id FROM t WHERE query = 'king' AND k = 3",
                          "SELECT glove_text_vec('the King')", "INSERT INTO w(w) VALUES ('merge')"}) {
#ifdef GLOVE_WITH_CUDA
    if (*sql == '\0') continue;  // the CUDA runtime in glove.so does not load without memory
#endif
    SCOPED_TRACE(sql);
    in_a_child([&] { try_statement(sql, 1L << 60, false); });
    const long allocations = outcome_->allocations;
    EXPECT_GT(allocations, 0);
    for (const bool for_good : {false, true})
      for (const long n : chosen(allocations, random, test::kShortShare == 1 ? 40 : 8)) {
        SCOPED_TRACE((for_good ? "from then on, allocation " : "allocation ") + std::to_string(n));
        in_a_child([&] { try_statement(sql, n, for_good); });
      }
  }
}

TEST_F(AllocationsTest, GloveNn) {
  fail_allocations({
      {"SELECT neighbor, similarity, rank FROM glove_nn('king', NULL, 3)"},
      {"SELECT neighbor, rank FROM glove_nn('king', '- man + woman', 2)"},
      {"SELECT neighbor FROM glove_nn WHERE expr = x'0000803f000000000000000000000000' AND k = 2"},
      {"SELECT neighbor FROM glove_nn WHERE expr = glove_text_vec('the king of Paris') AND k = 2"},
      {"SELECT word, neighbor FROM glove_nn WHERE word IN ('king', 'man', 'x') AND k = 2 ORDER BY word, "
       "rank"},
      {"SELECT d.id, n.neighbor FROM doc d LEFT JOIN glove_nn n ON n.word = iif(d.id % 2, 'man', 'x') AND "
       "n.k = 1 "
       "WHERE d.id < 5"},
      {"SELECT neighbor, rank FROM glove_nn('king') WHERE neighbor IN ('man', 'far', 'x') OR rank = 2 ORDER "
       "BY rank"},
      {"WITH RECURSIVE c(w, n) AS (SELECT 'king', 1 UNION ALL SELECT (SELECT neighbor FROM glove_nn WHERE "
       "word = c.w "
       "AND k = 1), n + 1 FROM c WHERE n < 4) SELECT *, row_number() OVER (ORDER BY w) FROM c"},
  });
}

TEST_F(AllocationsTest, QueriesOfIndexes) {
  constexpr const char* kInBlocks = "SELECT glove_config('index_memory', 1)";
  fail_allocations({
      {"SELECT id, similarity, rank FROM v WHERE query = '[1,2,3,4]' AND k = 5 ORDER BY rank"},
      {"SELECT id, rank FROM v WHERE query = x'0000803f000000400000404000008040' ORDER BY rank DESC LIMIT 3"},
      {"SELECT id, rank FROM v WHERE query = '[1,2,3,4]' AND id IN (2, 9, 41, 99) ORDER BY id"},
      {"SELECT id, rank FROM w WHERE query = '[1,2,3,4]' AND k = 3 ORDER BY rank",
       "UPDATE listed SET e = '[0,1,0,1]' WHERE id = 9"},
      {"SELECT count(*) FROM w WHERE query = '[1,2,3,4]' AND k = 5 AND recall = 0.9"},
      {"SELECT id, rank FROM t WHERE query = 'the king' AND k = 3 ORDER BY rank"},
      {"SELECT id, rank FROM v WHERE query = '[1,2,3,4]' AND k = 3 AND among = (SELECT glove_keys(id) FROM "
       "doc WHERE "
       "tag = 'tag 1') ORDER BY rank"},
      {"SELECT d.id, v.id FROM doc d JOIN v ON v.query = d.e AND v.k = 2 WHERE d.id < 6 ORDER BY d.id, "
       "v.rank"},
      {"SELECT query, id FROM v WHERE query IN (SELECT e FROM doc WHERE id < 4) AND k = 1 ORDER BY query"},
      // Of indexes whose codes have no room in memory.
      {"SELECT id, rank FROM v WHERE query = '[1,2,3,4]' AND k = 4 ORDER BY rank", kInBlocks},
      {"SELECT count(*) FROM w WHERE query = '[1,2,3,4]' AND k = 5 AND recall = 0.9", kInBlocks},
      {"SELECT id FROM t WHERE query = 'the king' ORDER BY rank", kInBlocks},
      {"SELECT json_extract(glove_recall('w', e, 3, 0.9), '$.queries') FROM listed"},
      {"SELECT key, rank FROM glove_mmr('v', '[1,2,3,4]', 4, 0.5, 20, '[1, 2, 3, 4, 5, 6]')"},
      {"SELECT key FROM glove_mmr('t', 'the king', 2)"},
      {"SELECT a, b, similarity FROM glove_pairs WHERE target = 'v' AND k = 2"},
      {"SELECT a, b FROM glove_pairs WHERE target = 'w' AND pairs = 3"},
      {"SELECT id, group_id FROM glove_groups('v', 0.9)"},
      {"BEGIN; CREATE TABLE found AS SELECT id FROM v WHERE query = '[1,2,3,4]'; SELECT count(*) FROM found; "
       "COMMIT"},
  });
}

TEST_F(AllocationsTest, ChangesOfTables) {
  fail_allocations({
      {"INSERT INTO doc VALUES (60, 'a', '[1,0,1,0]')"},
      {"INSERT INTO doc SELECT id + 100, tag, e FROM doc"},
      {"UPDATE doc SET e = json_array(id, id % 4, 0, 1), tag = 'x' WHERE id % 2"},
      {"DELETE FROM doc WHERE id % 3 = 0"},
      {"INSERT OR REPLACE INTO doc SELECT id, 'again', json_array(1, 0, id, 1) FROM doc WHERE id % 4 = 0"},
      {"INSERT INTO note VALUES (9, 'far', 'king') ON CONFLICT(id) DO UPDATE SET body = 'none' RETURNING id"},
      {"BEGIN; INSERT INTO doc VALUES (61, 'b', '[0,0,1,0]'); SAVEPOINT s; DELETE FROM doc WHERE id < 20; "
       "SELECT id "
       "FROM v WHERE query = '[1,2,3,4]' AND k = 3; ROLLBACK TO s; UPDATE doc SET id = id + 200 WHERE id > "
       "30; SELECT "
       "id FROM v WHERE query = '[1,2,3,4]' AND k = 3; INSERT INTO v(v) VALUES ('sync'); COMMIT"},
  });
}

TEST_F(AllocationsTest, CommandsOfIndexes) {
  fail_allocations({
      {"INSERT INTO v(v) VALUES ('sync')"},
      {"INSERT INTO w(w) VALUES ('sync')"},
      {"INSERT INTO t(t) VALUES ('sync')"},
      {"INSERT INTO v(v) VALUES ('merge')"},
      {"INSERT INTO w(w) VALUES ('merge')"},
      {"INSERT INTO t(t) VALUES ('merge')"},
      {"INSERT INTO w(w) VALUES ('rebuild')"},
      {"INSERT INTO t(t) VALUES ('rebuild')"},
      {"INSERT INTO v(v) VALUES ('integrity-check')"},
      {"INSERT INTO w(w, query) VALUES ('calibrate', '[1,2,3,4]')"},
  });
}

TEST_F(AllocationsTest, Schemas) {
  fail_allocations({
      {"BEGIN; DROP TABLE v; CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', "
       "vector='e'); COMMIT"},
      {"DROP TABLE w"},
      {"CREATE VIRTUAL TABLE u USING glove_index(content='listed', rowid='id', vector='e', lists=2)"},
      {"CREATE VIRTUAL TABLE u USING glove_index(content='note', rowid='id', text='title, body', model='m')"},
      {"DROP TABLE t"},
      {"DROP TABLE doc"},
      {"ALTER TABLE v RENAME TO u"},
      {"ALTER TABLE doc RENAME TO docs"},
      {"ALTER TABLE doc ADD COLUMN more"},
      {"BEGIN; CREATE VIEW near AS SELECT id FROM v WHERE query = '[1,2,3,4]'; SELECT count(*) FROM near; "
       "COMMIT"},
      {"VACUUM"},
  });
}

TEST_F(AllocationsTest, Models) {
  const std::string saved = sql_text(folder_.path("saved.safetensors"));
  const std::string save = "SELECT glove_save('m', " + saved + ") LIKE '%saved.safetensors'";
  fail_allocations({
      {"SELECT glove_load(" + model_ + ", 'n')", "", Changes::kProcess},
      {"SELECT glove_load(" + model_ + ", 'm', '{\"threads\":2}')", "", Changes::kProcess},
      {save, "", Changes::kProcess},
      {"SELECT glove_load(" + saved + ", 's')", save, Changes::kProcess},
      {"SELECT glove_load_table('n', 'SELECT tag || id, e FROM doc WHERE e IS NOT NULL')", "",
       Changes::kProcess},
      {"SELECT glove_derive('d', '{\"whiten\":true,\"dims\":2}', 'm')", "", Changes::kProcess},
      {"SELECT glove_unload('n') IS NULL OR 1", "SELECT glove_load(" + model_ + ", 'n')", Changes::kProcess},
      {"SELECT id, word, norm FROM glove_words WHERE word > 'k' ORDER BY word"},
      {"SELECT glove_config('threads', glove_config('threads')) >= 0, glove_version() > ''"},
  });
}

// Which have many texts in rows, whose copies failed.
TEST_F(AllocationsTest, SmallTables) {
  fail_allocations(
      {
          {"SELECT name, words, dims, backend FROM glove_models"},
          {"SELECT name, rows, segments, dead, logged, state FROM glove_indexes ORDER BY name"},
          {"SELECT count(*) > 0 FROM glove_stats", "SELECT neighbor FROM glove_nn('king', NULL, 2)"},
      },
      test::kShortShare == 1 ? 20 : 5);
}

// Of a model that is large enough for several threads.
TEST_F(AllocationsTest, ThreadsOfThePool) {
  std::string text;
  for (int word = 0; word < 6000; ++word) {
    text += 'w' + std::to_string(word);
    for (int i = 1; i <= 24; ++i) text += ' ' + std::to_string(word * i % 1009 * 7919 % 1009 - 504);
    text += '\n';
  }
  const std::string load = "SELECT glove_config('threads', 4), glove_load(" +
                           sql_text(folder_.write("large.txt", text)) + ", 'n', '{\"threads\":4}')";
  fail_allocations({
      {load, "", Changes::kProcess},
      {"SELECT word, neighbor FROM glove_nn WHERE word IN (SELECT 'w' || id FROM doc) AND k = 3 AND model = "
       "'n' ORDER "
       "BY word, rank",
       load, Changes::kProcess},
      {"SELECT count(*) FROM glove_kmeans(5, 6000, 'n')", load, Changes::kProcess},
      {"SELECT component, variance FROM glove_pca(2, 6000, 'n')", load, Changes::kProcess},
      {"SELECT glove_derive('d', '{\"dims\":3}', 'n')", load, Changes::kProcess},
  });
}

TEST_F(AllocationsTest, FunctionsAndTheToolbox) {
  fail_allocations({
      {"SELECT cos_sim('king', word), glove_vec('king - man'), glove_oov('xx + king') FROM glove_words"},
      {"SELECT glove_text_vec(body), glove_text_vec(title, 'm', '{\"a\":1}') FROM note"},
      {"SELECT token, weight FROM glove_tokens('the king and I', 'm')"},
      {"SELECT glove_mean(word, id + 1) OVER (ROWS 2 PRECEDING) FROM glove_words"},
      {"SELECT hex(glove_keys(id)), glove_expand('king', 3) FROM doc"},
      {"SELECT word, cluster FROM glove_kmeans(2, NULL, 'm') ORDER BY word"},
      {"SELECT cluster, size FROM glove_clusters(2, 3, 'm')"},
      {"SELECT component, variance FROM glove_pca(2, NULL, 'm')"},
      {"SELECT word, x, y FROM glove_map(5, 'm')"},
      {"SELECT length(glove_svg(x, y, word, cluster)) FROM (SELECT * FROM glove_map(5, 'm') JOIN "
       "glove_kmeans(2, "
       "NULL, 'm') USING (word))"},
      {"SELECT glove_density(id, id % 4, '{\"width\":3,\"height\":2,\"sigma\":1}') FROM doc"},
      {"SELECT glove_convolve('[[1,2],[3,4]]', '[[1,0.5,0]]'), length(glove_atax(glove_vec('king')))"},
  });
}

}  // namespace
}  // namespace glove::testing
