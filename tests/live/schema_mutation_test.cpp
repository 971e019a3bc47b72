// Mutates the schema and the tables of indexes at random, as the author of a hostile file can, and uses the
// indexes: an error or an answer, never a crash, a loop without end, or a wrong answer of an index beside.
//
//   GLOVE_TEST_RUNS   how many databases, 300 by default, and 60 in the short form
//   GLOVE_TEST_SEED   that of the first, 1 by default; the next ones have the next numbers
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/forked_child.h"
#include "tests/functions/connection.h"
#include "tests/share.h"

namespace glove::testing {
namespace {

constexpr int kRunsPerChild = 50;
constexpr int kMostSteps = 200;  // of progress, 1,000 operations of SQLite each, per statement

// What the child runs, for the message about one that dies.
struct Shared {
  uint64_t seed;
  long mutations;          // that SQLite accepted
  long errors, successes;  // of the uses
  char problem[2000];      // of an index beside, or a statement that did not end
  char statements[60'000];
};

// v follows doc, t the texts of doc, and beside follows other, which nothing mutates.
constexpr const char* kSchema = R"sql(
CREATE TABLE doc(id INTEGER PRIMARY KEY, e, text);
INSERT INTO doc VALUES (1, x'0000803f0000004000004040', 'a b'), (2, x'00004040000000400000803f', 'b'),
  (3, x'0000803f0000803f0000803f', 'c a'), (4, x'000080bf0000004000004040', 'a'), (5, NULL, NULL),
  (6, x'0000803f000000c000004040', 'c b a'), (7, x'0000803f0000004000000041', 'b b c');
CREATE TABLE other AS SELECT * FROM doc;
CREATE TABLE beside_doc(id INTEGER PRIMARY KEY, e);
INSERT INTO beside_doc SELECT id, e FROM doc;
INSERT INTO doc SELECT id + 20, e, text FROM doc UNION ALL SELECT id + 40, e, text FROM doc;
CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', vector='e', lists=2);
CREATE VIRTUAL TABLE t USING glove_index(content='doc', rowid='id', text='text', model='m');
CREATE VIRTUAL TABLE beside USING glove_index(content='beside_doc', rowid='id', vector='e');
DELETE FROM doc WHERE id = 2;
INSERT INTO v(v) VALUES ('sync');
INSERT INTO t(t) VALUES ('sync');
UPDATE doc SET e = x'0000803f0000803f00000000', text = 'b a' WHERE id = 4;
INSERT INTO doc VALUES (9, x'000000400000803f0000803f', 'a c');
)sql";
constexpr const char* kModel = R"sql(
CREATE TABLE words(word, e);
INSERT INTO words VALUES ('a', x'0000803f0000000000004040'), ('b', x'000000000000803f0000803f'),
  ('c', x'000080bf0000803f00000000');
SELECT glove_load_table('m', 'SELECT word, e FROM words');
DROP TABLE words;
)sql";

// Statements with places for a random choice: S a table of an index, D one of the user's or of an index, I an
// index, C a command, E an expression, X an event, W a statement of a trigger, N a number, Q a query, K a
// column.
const std::vector<std::string> kMutations = {
    "ALTER TABLE S RENAME TO saved; CREATE VIEW S AS SELECT * FROM saved",
    "ALTER TABLE S RENAME TO saved; CREATE VIEW S AS SELECT saved.*, E AS more FROM saved",
    "CREATE TABLE saved AS SELECT * FROM S; DROP TABLE S; CREATE VIEW w AS SELECT s.rowid + 0 * E AS rowid, "
    "s.* FROM saved s; "
    "CREATE VIRTUAL TABLE S USING fts5(id, content='w', columnsize=0)",
    "CREATE TABLE saved AS SELECT * FROM S; DROP TABLE S; CREATE VIRTUAL TABLE S USING fts5(id, uuid, rows, "
    "crc, segment, number, data, bits)",
    "DROP TABLE S; CREATE VIRTUAL TABLE S USING rtree(id, a, b)",
    "DROP TABLE S; CREATE VIRTUAL TABLE S USING glove_index(content='other', rowid='id', vector='e')",
    "DROP TABLE S; CREATE VIRTUAL TABLE S USING glove_index(content='doc', rowid='id', vector='e')",
    "CREATE TABLE saved AS SELECT * FROM S; DROP TABLE S; CREATE TABLE S AS SELECT * FROM saved",
    "DROP TABLE S; CREATE TABLE S(id INTEGER PRIMARY KEY, a AS (E), b CHECK (E), c DEFAULT (E)) WITHOUT "
    "ROWID",
    "ALTER TABLE S ADD COLUMN more AS (E)",
    "ALTER TABLE S ADD COLUMN more CHECK (E)",
    "ALTER TABLE D ADD COLUMN more AS (again(N))",
    "ALTER TABLE D ADD COLUMN more NOT NULL DEFAULT 1 CHECK (again(N) IS NOT NULL)",
    "CREATE INDEX i ON D(again(N))",
    "CREATE UNIQUE INDEX i ON D(N + 0 * rowid)",
    "CREATE TRIGGER g X ON D BEGIN W; END",
    "CREATE TRIGGER h X ON D WHEN again(N) IS NOT NULL BEGIN W; W; END",
    "CREATE TEMP TRIGGER k X ON main.D BEGIN W; END",
    "PRAGMA recursive_triggers = ON; CREATE TRIGGER g X ON D BEGIN W; END",
    "ALTER TABLE doc RENAME COLUMN e TO f; ALTER TABLE doc ADD COLUMN e AS (again(N) + f)",
    "ALTER TABLE doc RENAME TO doc2; CREATE VIEW doc AS SELECT doc2.*, E AS more FROM doc2",
    "ALTER TABLE doc RENAME TO doc2; CREATE VIRTUAL TABLE doc USING fts5(id, e, text)",
    "ALTER TABLE doc DROP COLUMN text",
    "DROP TRIGGER I_insert; DROP TRIGGER I_update",
    "DROP TRIGGER I_update; CREATE TRIGGER I_update X ON doc BEGIN W; END",
    "DROP TABLE S",
    "ALTER TABLE S RENAME TO moved",
    "ALTER TABLE I RENAME TO moved",
    "CREATE TEMP VIEW D AS SELECT E AS id",
    "CREATE TEMP TABLE D(id, rowid, e)",
    "CREATE VIEW pragma_database_list AS SELECT 0 AS seq, 'main' AS name, E AS file",
    "CREATE VIEW pragma_table_list AS SELECT E AS name",
    "UPDATE S SET K = N",
    "UPDATE S SET K = zeroblob(abs(N) % 3000)",
    "INSERT INTO S SELECT * FROM S",
    "DELETE FROM S WHERE N % 2 = rowid % 2",
    "PRAGMA schema_version = N",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA case_sensitive_like = ON",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'INTEGER PRIMARY KEY', "
    "'INTEGER PRIMARY KEY, E2 AS (again(N))') "
    "WHERE name = 'S'; PRAGMA writable_schema = RESET",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET type = 'view', rootpage = 0, sql = 'CREATE VIEW S "
    "AS SELECT E AS id' WHERE name = "
    "'S'; PRAGMA writable_schema = RESET",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master "
    "WHERE name = 'D') WHERE name = 'S'; "
    "PRAGMA writable_schema = RESET",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'doc', 'S') WHERE name = 'I'; "
    "PRAGMA writable_schema = RESET",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'doc', 'I') WHERE name = 'I'; "
    "PRAGMA writable_schema = RESET",
    "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = 'S'; PRAGMA writable_schema = RESET",
};
const std::vector<std::string> kUsesOfIndexes = {
    "SELECT * FROM I WHERE query = Q",
    "SELECT * FROM I WHERE query = Q AND k = 2",
    "SELECT * FROM I WHERE query = Q AND k = 1",
    "SELECT * FROM I WHERE query = Q AND id IN (1, 4, 9)",
    "SELECT a.id FROM I a JOIN I b ON b.query = Q AND b.k = 3 WHERE a.query = Q AND a.k = 3",
    "INSERT INTO I(I) VALUES ('C')",
    "INSERT INTO I(I) VALUES ('C')",
    "INSERT INTO I(I) SELECT 'C' FROM I WHERE query = Q AND k = 2",
    "SELECT * FROM glove_indexes",
    "UPDATE doc SET e = Q, text = 'a' WHERE id = abs(N) % 9",
    "INSERT OR REPLACE INTO doc(id, e, text) VALUES (abs(N) % 9, Q, 'b')",
    "DELETE FROM doc WHERE id = abs(N) % 9",
    "PRAGMA integrity_check",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "ROLLBACK TO s",
    "ALTER TABLE I RENAME TO moved",
    "ALTER TABLE moved RENAME TO I",
    "DROP TABLE I",
    "DROP TABLE S",
    "DROP VIEW S",
    "VACUUM",
    "DELETE FROM S"};
const std::vector<std::string> kTriggered = {"INSERT INTO I(I) VALUES ('C')",
                                             "SELECT count(*) FROM I WHERE query = Q",
                                             "SELECT count(*) FROM glove_indexes",
                                             "SELECT again(N)",
                                             "SELECT RAISE(FAIL, 'x')",
                                             "SELECT RAISE(IGNORE)",
                                             "SELECT RAISE(ROLLBACK, 'x')",
                                             "DELETE FROM S",
                                             "INSERT OR REPLACE INTO S SELECT * FROM S",
                                             "UPDATE doc SET e = Q",
                                             "INSERT OR REPLACE INTO doc(id, e, text) VALUES (N, Q, 'c')",
                                             "DELETE FROM doc WHERE id = 3"};
const std::vector<std::string> kExpressions = {"(SELECT count(*) FROM I WHERE query = Q)",
                                               "(SELECT count(*) FROM glove_indexes)",
                                               "(SELECT max(id) FROM I WHERE query = Q AND k = 2)",
                                               "again(N)",
                                               "N",
                                               "(SELECT count(*) FROM S)"};

// The database of kSchema, as a file has it. Loads the model 'm' for the process.
std::string make_image() {
  Connection connection;
  connection.rows(kModel);
  connection.rows(kSchema);
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(connection.handle(), "main", &size, 0);
  std::string image(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  sqlite3_free(bytes);
  return image;
}

class Scenario {
 public:
  Scenario(const std::string& image, uint64_t seed, Shared& shared) : random_(seed), shared_(shared) {
    shared_.seed = seed;
    shared_.statements[0] = '\0';
    auto* const bytes = static_cast<unsigned char*>(sqlite3_malloc64(image.size()));
    std::memcpy(bytes, image.data(), image.size());
    const auto size = static_cast<sqlite3_int64>(image.size());
    EXPECT_EQ(sqlite3_deserialize(db(), "main", bytes, size, size,
                                  SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE),
              SQLITE_OK);
    sqlite3_create_function(db(), "again", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, this, again, nullptr,
                            nullptr);
    sqlite3_progress_handler(db(), 1000, on_progress, this);
  }

  void play() {
    for (int64_t i = pick(3); i >= 0; --i)
      if (run(filled(one_of(kMutations)))) ++shared_.mutations;
    for (int i = 0; i < 10; ++i) run(filled(one_of(kUsesOfIndexes))) ? ++shared_.successes : ++shared_.errors;
    run("ROLLBACK");
    check_beside();
    for (const char* const table : {"v", "t", "moved"}) run("DROP TABLE " + std::string(table));
  }

 private:
  sqlite3* db() { return connection_.handle(); }
  int64_t pick(size_t below) { return static_cast<int64_t>(random_() % below); }
  const std::string& one_of(const std::vector<std::string>& all) {
    return all[static_cast<size_t>(pick(all.size()))];
  }

  // Replaces the letters that stand alone. Equal letters of a statement get the same choice, except E and W.
  std::string filled(const std::string& pattern) {
    std::array<std::string, 128> chosen;
    std::string text;
    for (size_t i = 0; i < pattern.size(); ++i) {
      const auto is_letter = [&pattern](size_t at) {
        return at < pattern.size() && (std::isalnum(static_cast<unsigned char>(pattern[at])) != 0);
      };
      const char c = pattern[i];
      const bool alone = std::string_view("SDICEXWNQK").find(c) != std::string_view::npos &&
                         (i == 0 || !is_letter(i - 1)) && !is_letter(i + 1);
      if (!alone) {
        text += c;
        continue;
      }
      std::string& choice = chosen[static_cast<size_t>(c)];
      if (choice.empty() || c == 'E' || c == 'W') choice = choose(c);
      text += choice;
    }
    return text;
  }

  std::string choose(char what) {
    switch (what) {
      case 'S':
        return one_of({"v_", "v_", "t_"}) +
               one_of({"config", "segment", "block", "dead", "log", "log", "vector"});
      case 'D':
        return pick(3) == 0 ? "doc" : choose('S');
      case 'I':
        return one_of({"v", "v", "t"});
      case 'C':
        return one_of({"sync", "merge", "rebuild", "integrity-check"});
      case 'X':
        return one_of({"BEFORE ", "AFTER "}) + one_of({"INSERT", "UPDATE", "DELETE"});
      case 'W':
        return filled(one_of(kTriggered));
      case 'E':
        return filled(one_of(kExpressions));
      case 'K':
        return one_of(
            {"id", "key", "value", "uuid", "rows", "crc", "segment", "number", "data", "bits", "vectors"});
      case 'Q':
        return one_of({"x'0000803f0000004000004040'", "'[1, 2, 3]'", "'a b'", "NULL", "e"});
      default:
        return one_of({"0", "1", "2", "-1", "7", "1000", "9223372036854775807"});
    }
  }

  bool run(const std::string& sql) {
    std::snprintf(shared_.statements + std::strlen(shared_.statements),
                  sizeof shared_.statements - std::strlen(shared_.statements), "%s;\n", sql.c_str());
    corrupts_ = corrupts_ || sql.find("rootpage = (") != std::string::npos;
    steps_ = calls_ = 0;
    Rows rows;
    return connection_.run(sql, rows) == SQLITE_OK;
  }

  // again(n): runs one more statement, whatever it is.
  static void again(sqlite3_context* context, int, sqlite3_value**) {
    auto& self = *static_cast<Scenario*>(sqlite3_user_data(context));
    sqlite3_result_int(context, 1);
    if (self.depth_ == 3 || ++self.calls_ > 20) return;
    ++self.depth_;
    Rows rows;
    self.connection_.run(self.filled(self.one_of(self.pick(2) == 0 ? kUsesOfIndexes : kTriggered)), rows);
    --self.depth_;
  }

  // Ends statements that are long without the extension, such as triggers that fire one another.
  static int on_progress(void* self) { return ++static_cast<Scenario*>(self)->steps_ > kMostSteps ? 1 : 0; }

  void check_beside() {
    if (corrupts_) return;  // a page may belong to two tables
    const std::string query = "x'0000803f0000000000004040'";
    Rows indexed, scanned;
    steps_ = 0;
    const int scan = connection_.run(
        "SELECT id, cos_sim(e, " + query + ") AS s FROM beside_doc WHERE e NOT NULL ORDER BY s DESC, id",
        scanned);
    if (scan != SQLITE_OK) return;  // SQLite refuses the whole schema
    connection_.run("SELECT id, similarity FROM beside WHERE query = " + query + " ORDER BY rank", indexed);
    if (indexed == scanned && scanned.size() == 6) return;
    std::snprintf(shared_.problem, sizeof shared_.problem,
                  "the index beside returns %zu rows, its table %zu: %s", indexed.size(), scanned.size(),
                  sqlite3_errmsg(db()));
  }

  std::mt19937_64 random_;
  Shared& shared_;
  Connection connection_;
  bool corrupts_ = false;
  int steps_ = 0, calls_ = 0, depth_ = 0;
};

// Of LeakSanitizer, where the program is built with it.
extern "C" __attribute__((weak)) int __lsan_do_recoverable_leak_check();

uint64_t number_of(const char* variable, uint64_t otherwise) {
  const char* const given = std::getenv(variable);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

TEST(SchemaMutations, DoNoHarm) {
  setenv("GLOVE_CPU_FIRST_LEVEL", "coarsest", 0);  // so that searches read the planes of so few rows
  const uint64_t seed = number_of("GLOVE_TEST_SEED", 1);
  const uint64_t end = seed + number_of("GLOVE_TEST_RUNS", 300 / test::kShortStep);
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Shared& shared = *static_cast<Shared*>(memory);
  for (uint64_t first = seed; first < end; first += kRunsPerChild) {
    const bool held = holds_in_forked_child([&] {
      const std::string image = make_image();
      for (uint64_t i = first; i < std::min(end, first + kRunsPerChild); ++i) {
        Scenario(image, i, shared).play();
        if (HasFailure() || shared.problem[0] != '\0') return false;
      }
      return __lsan_do_recoverable_leak_check == nullptr || __lsan_do_recoverable_leak_check() == 0;
    });
    ASSERT_TRUE(held) << shared.problem << "\nGLOVE_TEST_RUNS=1 GLOVE_TEST_SEED=" << shared.seed
                      << " repeats\n"
                      << shared.statements;
  }
  std::printf("seeds %llu to %llu: %ld mutations, %ld uses that ended in an error, %ld that succeeded\n",
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(end - 1),
              shared.mutations, shared.errors, shared.successes);
  EXPECT_GT(shared.mutations, static_cast<long>((end - seed) / 2)) << "SQLite refuses most of them";
  munmap(memory, sizeof(Shared));
}

}  // namespace
}  // namespace glove::testing
