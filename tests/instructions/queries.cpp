// The warm queries whose instructions gate.py counts under callgrind.
//
//   queries prepare FOLDER    writes words.txt, from which glove-convert makes the models
//   queries database FOLDER   makes the database
//   queries measure FOLDER    runs what belongs to $GLOVE_CPU_FIRST_LEVEL, and has callgrind dump the counts
//
// Clocks advance by a microsecond whenever they are read, so that no count depends on the time that anything
// takes.
#include <sqlite3.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) static_cast<void>(name)
#endif

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>

namespace {

constexpr int kWords = 20000;
constexpr int kDims = 64;
constexpr int kRepetitions = 4;  // of what is measured, each with another query

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

sqlite3* open(const std::string& file) {
  sqlite3* db = nullptr;
  if (sqlite3_open(file.c_str(), &db) != SQLITE_OK) fail("cannot open " + file);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
  char* message = nullptr;
  if (sqlite3_load_extension(db, GLOVE_EXTENSION, nullptr, &message) != SQLITE_OK) fail(message);
  return db;
}

// Runs the statements and returns how many rows they had.
int run(sqlite3* db, const std::string& sql) {
  int rows = 0;
  const auto count = [](void* data, int, char**, char**) { return ++*static_cast<int*>(data), 0; };
  if (sqlite3_exec(db, sql.c_str(), count, &rows, nullptr) != SQLITE_OK)
    fail(sqlite3_errmsg(db) + (" in " + sql));
  return rows;
}

// Numbers that look random, the same on every machine.
class Numbers {
 public:
  int next(int most) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state_ >> 33) % static_cast<uint64_t>(most));
  }

 private:
  uint64_t state_ = 1;
};

// A hundred clusters, so that bounds rule rows out as they do in models that people use.
void write_model(const std::string& file) {
  Numbers numbers;
  std::ofstream out(file);
  for (int word = 0; word < kWords; ++word) {
    out << 'w' << word;
    Numbers of_cluster;
    for (int skip = 0; skip < word % 100 * kDims; ++skip) of_cluster.next(2);
    for (int i = 0; i < kDims; ++i) out << ' ' << of_cluster.next(2001) - 1000 + numbers.next(801) - 400;
    out << '\n';
  }
}

void make_database(const std::string& folder) {
  sqlite3* const db = open(folder + "/instructions.db");
  run(db, "SELECT glove_load('" + folder + "/words.safetensors', 'words')");
  for (const char* table : {"synced", "logged"}) {
    const std::string name = table;
    run(db, "CREATE TABLE " + name + "(id INTEGER PRIMARY KEY, e BLOB); INSERT INTO " + name +
                " SELECT id, vector FROM glove_words WHERE id < 5000; CREATE VIRTUAL TABLE " + name +
                "_index USING glove_index(content='" + name + "', rowid='id', vector='e')");
  }
  run(db,
      "UPDATE logged SET e = (SELECT vector FROM glove_words WHERE id = logged.id + 5000) WHERE id % 25 = 0;"
      "CREATE TABLE tag(word TEXT PRIMARY KEY, note TEXT); INSERT INTO tag SELECT word, 'note of ' || word "
      "FROM "
      "glove_words; CREATE TABLE written(id INTEGER PRIMARY KEY, e BLOB); INSERT INTO written SELECT * FROM "
      "synced "
      "WHERE id < 100; CREATE VIRTUAL TABLE written_index USING glove_index(content='written', rowid='id', "
      "vector='e')");
  sqlite3_close(db);
}

class Measurements {
 public:
  explicit Measurements(const std::string& folder) : folder_(folder), db_(open(folder + "/instructions.db")) {
    run(db_,
        "PRAGMA journal_mode = MEMORY; SELECT glove_config('threads', 1), glove_config('audits', 0), "
        "glove_load('" +
            folder + "/words.safetensors', 'words'), glove_load('" + folder +
            "/lists.safetensors', 'lists')");
  }
  ~Measurements() { sqlite3_close(db_); }
  Measurements(const Measurements&) = delete;
  Measurements& operator=(const Measurements&) = delete;

  // Calls work(0) to work(7), and counts the last four. Each must return `rows`.
  void measure(const char* name, int rows, const std::function<int(int)>& work) {
    for (int i = 0; i < kRepetitions; ++i) expect(name, rows, work(i));
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    int seen[kRepetitions];
    for (int i = 0; i < kRepetitions; ++i) seen[i] = work(kRepetitions + i);
    CALLGRIND_DUMP_STATS_AT(name);
    CALLGRIND_STOP_INSTRUMENTATION;
    for (const int each : seen) expect(name, rows, each);
  }

  void by_8_bits() {
    measure("glove_nn, k = 10, exact by 8 bits", 10, nearest("words", ""));
    measure("a batch of 100 words", 1000, [this](int i) {
      return run(
          db_,
          "SELECT word, neighbor FROM glove_nn WHERE word IN (SELECT word FROM tag WHERE rowid BETWEEN " +
              std::to_string(i * 100 + 1) + " AND " + std::to_string(i * 100 + 100) +
              ") AND k = 10 AND model = 'words'");
    });
    measure("a join of 1,000 rows", 1000, [this](int i) {
      return run(
          db_,
          "SELECT t.note, n.similarity FROM glove_nn n JOIN tag t ON t.word = n.neighbor WHERE n.word = 'w" +
              std::to_string(i) + "' AND n.k = 1000 AND n.model = 'words' ORDER BY n.rank");
    });
    for (const auto& [name, index] : {std::pair{"an index without a log, k = 10", "synced"},
                                      {"an index with 200 logged rows, k = 10", "logged"}})
      measure(name, 10, [this, table = std::string(index)](int i) {
        return run(db_, "SELECT id, similarity FROM " + table +
                            "_index WHERE query = (SELECT vector FROM glove_words WHERE "
                            "model = 'words' AND id = " +
                            std::to_string(7000 + i) + ") AND k = 10");
      });
    measure("INSERT of 100 rows with triggers", 0, [this](int i) {
      return run(db_, "INSERT INTO written SELECT id + " + std::to_string(1000 * (i + 1)) +
                          ", e FROM synced WHERE id < 100");
    });
    measure("open and close", 2, [this](int) {
      sqlite3* const other = open(folder_ + "/instructions.db");
      const int rows = run(other, "SELECT name FROM glove_models");
      sqlite3_close(other);
      return rows;
    });
  }

  void by_4_bits() {
    measure("glove_nn, k = 10, exact by 4 bits", 10, nearest("words", ""));
    measure("glove_nn, k = 10, exact by planes", 10, nearest("lists", ""));
    measure("glove_nn, k = 10, recall = 0.9", 10, nearest("lists", " AND recall = 0.9"));
  }

 private:
  static void expect(const char* name, int rows, int seen) {
    if (seen != rows) fail(name + (": " + std::to_string(seen)) + " rows instead of " + std::to_string(rows));
  }

  std::function<int(int)> nearest(const std::string& model, const std::string& more) {
    return [this, model, more](int i) {
      return run(db_, "SELECT neighbor, similarity FROM glove_nn WHERE word = 'w" + std::to_string(i * 117) +
                          "' AND k = 10 AND model = '" + model + "'" + more);
    };
  }

  const std::string folder_;
  sqlite3* const db_;
};

}  // namespace

// Takes the place of the C library's, for SQLite and for the extension.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t, timespec* time) noexcept {
  static std::atomic<long> reads{0};
  const long now = ++reads;
  time->tv_sec = 1'700'000'000 + now / 1'000'000;
  time->tv_nsec = now % 1'000'000 * 1000;
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "version") return std::puts(sqlite3_libversion()) < 0;
  if (argc != 3) fail("usage: queries prepare|database|measure FOLDER");
  const std::string command = argv[1], folder = argv[2];
  if (command == "prepare") {
    write_model(folder + "/words.txt");
  } else if (command == "database") {
    make_database(folder);
  } else {
    Measurements measurements(folder);
    const char* const level = std::getenv("GLOVE_CPU_FIRST_LEVEL");
    if (level != nullptr && std::string_view(level) == "coarsest")
      measurements.by_4_bits();
    else
      measurements.by_8_bits();
  }
  return 0;
}
