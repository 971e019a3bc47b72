// Timings through SQL: what a statement costs from sqlite3_step to its last row. One JSON object on stdout.
//
//   sql_bench GLOVE.SO MODEL.SAFETENSORS OTHER [BACKEND]      OTHER: a small model, which warms the process
//   up
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

sqlite3* db = nullptr;

void require(int code, const char* what) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  std::fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
  std::exit(1);
}

// Reads all rows: as many words, the similarity and the rank. Returns the number of rows.
int64_t read_all(sqlite3_stmt* statement, int words) {
  int64_t rows = 0;
  static int64_t sink = 0;
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    ++rows;
    for (int i = 0; i < words; ++i) sink += sqlite3_column_text(statement, i)[0];
    sink += static_cast<int64_t>(sqlite3_column_double(statement, words) * 1e6);
    sink += sqlite3_column_int64(statement, words + 1);
  }
  require(code, "step");
  return rows;
}

sqlite3_stmt* prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  require(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr), sql.c_str());
  return statement;
}

double number(const std::string& sql) {
  sqlite3_stmt* statement = prepare(sql);
  require(sqlite3_step(statement), sql.c_str());
  const double value = sqlite3_column_double(statement, 0);
  sqlite3_finalize(statement);
  return value;
}

void put(const std::string& key, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::printf(",\n  \"%s_median\": %.6g, \"%s_p10\": %.6g, \"%s_p90\": %.6g", key.c_str(),
              values[values.size() / 2], key.c_str(), values[values.size() / 10], key.c_str(),
              values[values.size() * 9 / 10]);
}

// Makes `db` a new connection with the extension.
void connect(const char* extension, int mutex) {
  require(sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | mutex, nullptr),
          "open");
  sqlite3_enable_load_extension(db, 1);
  char* error = nullptr;
  if (sqlite3_load_extension(db, extension, nullptr, &error) == SQLITE_OK) return;
  std::fprintf(stderr, "%s\n", error);
  std::exit(1);
}

// Adds the times of 200 single queries for k rows, after 20 others. The queries are the names from `first`
// on, which nobody has searched for, because answers are cached.
void time_single_queries(const std::string& backend, const std::vector<std::string>& names, size_t first,
                         int k, std::vector<double>& times) {
  sqlite3_stmt* nearest =
      prepare("SELECT neighbor, similarity, rank FROM glove_nn WHERE word = ?1 AND k = ?2 AND backend = '" +
              backend + "'");
  for (size_t i = 0; i < 220; ++i) {
    const std::string& name = names[(first + i) % names.size()];
    sqlite3_bind_text(nearest, 1, name.c_str(), -1, SQLITE_STATIC);
    sqlite3_bind_int(nearest, 2, k);
    const auto start = Clock::now();
    if (read_all(nearest, 1) != k) std::exit(1);
    const double us = us_since(start);
    sqlite3_reset(nearest);
    if (i >= 20) times.push_back(us);
  }
  sqlite3_finalize(nearest);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string backend = argc > 4 ? argv[4] : "cuda";
  connect(argv[1], SQLITE_OPEN_FULLMUTEX);
  number("SELECT length(glove_load('" + std::string(argv[3]) + "', 'warm'))");
  // Warms up the context, the staging memory and the first launch; the file to time is then a model that
  // nobody has used yet.
  number(
      "SELECT count(*) FROM glove_nn WHERE word = (SELECT word FROM glove_words WHERE id = 5) AND k = 3 AND "
      "backend = '" +
      backend + "'");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  number("SELECT length(glove_unload('warm'))");
  const std::string load = "SELECT length(glove_load('" + std::string(argv[2]) + "', 'main'))";
  std::vector<double> first_answers;
  for (int i = 0; i < 7; ++i) {
    if (i > 0) number("SELECT length(glove_unload('main'))");
    // The driver clears the freed 3 GB with its copy engine.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    number(load);
    const auto start = Clock::now();
    number(
        "SELECT count(*) FROM glove_nn WHERE word = (SELECT word FROM glove_words WHERE id = 5) AND k = 10 "
        "AND "
        "backend = '" +
        backend + "'");
    first_answers.push_back(us_since(start) * 1e-3);
    std::this_thread::sleep_for(std::chrono::milliseconds(400));  // the float32 rows follow
  }
  const auto words = static_cast<int64_t>(number("SELECT words FROM glove_models"));
  std::printf("{\n  \"words\": %ld,\n  \"first_answer_ms_cold\": %.5g", static_cast<long>(words),
              first_answers[0]);
  put("first_answer_ms", first_answers);

  std::mt19937_64 random(7);
  std::vector<std::string> names;
  sqlite3_stmt* word_of = prepare("SELECT word FROM glove_words WHERE id = ?");
  for (int i = 0; i < 1400; ++i) {
    sqlite3_bind_int64(word_of, 1, static_cast<int64_t>(random() % static_cast<uint64_t>(words)));
    require(sqlite3_step(word_of), "word");
    names.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(word_of, 0)));
    sqlite3_reset(word_of);
  }
  // In serialized mode, and in the mode for a program with one connection per thread, in which SQLite takes
  // no locks. In rounds, because the load from a host's other guests changes.
  sqlite3* const serialized = db;
  connect(argv[1], SQLITE_OPEN_NOMUTEX);
  sqlite3* const unlocked = db;
  constexpr int kRows[] = {1, 10, 100, 1000};
  std::vector<double> times_of[2][std::size(kRows)];
  for (size_t round = 0; round < 5; ++round) {
    for (const bool locked : {true, false}) {
      db = locked ? serialized : unlocked;
      for (size_t i = 0; i < std::size(kRows); ++i)
        time_single_queries(backend, names, round * 220, kRows[i], times_of[locked ? 0 : 1][i]);
    }
  }
  db = serialized;
  for (size_t i = 0; i < std::size(kRows); ++i) {
    const std::string key = "k" + std::to_string(kRows[i]);
    put(key + "_us", times_of[0][i]);
    put(key + "_nomutex_us", times_of[1][i]);
    std::vector<double> once_more;
    time_single_queries(backend, names, 5 * 220, kRows[i], once_more);  // for glove_stats
    for (const auto& [name, stages] :
         {std::pair("scan", "scan_us"), std::pair("stages", "resolve_us + scan_us + select_us + rescore_us"),
          std::pair("total", "total_us")})
      std::printf(
          ", \"%s_%s_us\": %.5g", key.c_str(), name,
          number(std::string("SELECT avg(") + stages + ") FROM (SELECT * FROM glove_stats LIMIT 100)"));
    put(key + "_beside_stats_us", once_more);
  }

  // Times the rows alone: the answer is cached, and its words are in the processor's cache.
  std::vector<double> kept;
  time_single_queries(backend, std::vector<std::string>(1, names[0]), 0, 1000, kept);
  put("k1000_kept_us", kept);

  require(sqlite3_exec(db, "CREATE TABLE tags(tag TEXT)", nullptr, nullptr, nullptr), "tags");
  sqlite3_stmt* insert = prepare("INSERT INTO tags VALUES (?)");
  for (const std::string& name : std::span(names).first(1024)) {
    sqlite3_bind_text(insert, 1, name.c_str(), -1, SQLITE_STATIC);
    require(sqlite3_step(insert), "insert");
    sqlite3_reset(insert);
  }
  sqlite3_stmt* batch = prepare(
      "SELECT word, neighbor, similarity, rank FROM glove_nn WHERE word IN (SELECT tag FROM tags) AND k = 10 "
      "AND "
      "backend = '" +
      backend + "'");
  std::vector<double> times;
  int64_t rows = 0;
  for (int i = 0; i < 14; ++i) {
    const auto start = Clock::now();
    rows = read_all(batch, 2);
    if (i >= 4) times.push_back(us_since(start));
    sqlite3_reset(batch);
  }
  std::printf(",\n  \"batch_rows\": %ld", static_cast<long>(rows));
  put("batch_us", times);
  std::printf(", \"batch_scan_us\": %.5g, \"batch_stages_us\": %.5g, \"batch_total_us\": %.5g\n}\n",
              number("SELECT scan_us FROM glove_stats LIMIT 1"),
              number("SELECT scan_us + select_us + rescore_us FROM glove_stats LIMIT 1"),
              number("SELECT total_us FROM glove_stats LIMIT 1"));
  return 0;
}
