// A live index through SQL: what a query costs from sqlite3_step to its last row beside glove_nn over the
// same vectors, and the time from the return of a sync to the first row of a query. One JSON object on
// stdout. Rows of both backends are compared.
//
//   live_bench GLOVE.SO [ROWS [DIMS [DATABASE]]]
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Rows = std::vector<std::pair<int64_t, double>>;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

sqlite3* db = nullptr;
int dims = 300;
uint64_t state = 0x9E3779B97F4A7C15u;

void require(int code, const char* what) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  std::fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
  std::exit(1);
}

void execute(const std::string& sql) {
  require(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), sql.c_str());
}

sqlite3_stmt* prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  require(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr), sql.c_str());
  return statement;
}

std::string text(const std::string& sql) {
  sqlite3_stmt* statement = prepare(sql);
  require(sqlite3_step(statement), sql.c_str());
  const auto* const value = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  std::string copy = value == nullptr ? "" : value;
  sqlite3_finalize(statement);
  return copy;
}

double number(const std::string& sql) {
  return std::atof(text(sql).c_str());
}

// A vector of components that are sums of four uniform numbers.
std::vector<float> random_vector() {
  std::vector<float> vector(static_cast<size_t>(dims));
  for (float& x : vector) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    x = static_cast<float>(static_cast<int>(state & 0xffff) + static_cast<int>(state >> 16 & 0xffff) +
                           static_cast<int>(state >> 32 & 0xffff) + static_cast<int>(state >> 48 & 0xffff) -
                           131070) *
        (1.0f / 65536);
  }
  return vector;
}

void insert(int64_t first, int64_t count) {
  execute("BEGIN");
  sqlite3_stmt* statement = prepare("INSERT OR REPLACE INTO doc VALUES (?, ?)");
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<float> vector = random_vector();
    sqlite3_bind_int64(statement, 1, first + i);
    sqlite3_bind_blob(statement, 2, vector.data(), dims * 4, SQLITE_STATIC);
    require(sqlite3_step(statement), "insert");
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  execute("COMMIT");
}

// Runs a query for a vector; sets the time to the first row and to the last.
Rows run(sqlite3_stmt* statement, const std::vector<float>& vector, double& first_us, double& all_us) {
  Rows rows;
  sqlite3_bind_blob(statement, 1, vector.data(), dims * 4, SQLITE_STATIC);
  const auto start = Clock::now();
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    if (rows.empty()) first_us = us_since(start);
    rows.emplace_back(sqlite3_column_int64(statement, 0), sqlite3_column_double(statement, 1));
  }
  require(code, "query");
  all_us = us_since(start);
  sqlite3_reset(statement);
  return rows;
}

Rows run(sqlite3_stmt* statement, const std::vector<float>& vector) {
  double first_us, all_us;
  return run(statement, vector, first_us, all_us);
}

std::string query_of(const std::string& backend, int k) {
  return "SELECT id, similarity FROM doc_vec WHERE query = ?1 AND k = " + std::to_string(k) +
         " AND backend = '" + backend + "'";
}

bool first_field = true;

void put(const std::string& key, double value) {
  std::printf("%s\n  \"%s\": %.6g", first_field ? "" : ",", key.c_str(), value);
  std::fflush(stdout);
  first_field = false;
}

void put(const std::string& key, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  put(key + "_median", values[values.size() / 2]);
  put(key + "_p10", values[values.size() / 10]);
  put(key + "_p90", values[values.size() * 9 / 10]);
}

// Returns for how many queries the two backends differ.
int64_t different_answers(int queries, int k) {
  sqlite3_stmt* const cuda = prepare(query_of("cuda", k));
  sqlite3_stmt* const cpu = prepare(query_of("cpu", k));
  int64_t different = 0;
  for (int i = 0; i < queries; ++i) {
    const std::vector<float> vector = random_vector();
    different += run(cuda, vector) == run(cpu, vector) ? 0 : 1;
  }
  sqlite3_finalize(cuda);
  sqlite3_finalize(cpu);
  return different;
}

void time_queries(const std::string& key, const std::string& sql, int count) {
  sqlite3_stmt* const statement = prepare(sql);
  std::vector<double> us;
  for (int i = 0; i < count + 20; ++i) {
    double first_us, all_us;
    const Rows rows = run(statement, random_vector(), first_us, all_us);
    if (rows.size() != 10) std::exit(1);
    if (i >= 20) us.push_back(all_us);
  }
  sqlite3_finalize(statement);
  put(key + "_us", us);
  put(key + "_scan_us", number("SELECT avg(scan_us) FROM (SELECT * FROM glove_stats LIMIT 100)"));
  put(key + "_select_us", number("SELECT avg(select_us) FROM (SELECT * FROM glove_stats LIMIT 100)"));
  put(key + "_rescore_us", number("SELECT avg(rescore_us) FROM (SELECT * FROM glove_stats LIMIT 100)"));
  put(key + "_candidates", number("SELECT avg(candidates) FROM (SELECT * FROM glove_stats LIMIT 100)"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int64_t rows = argc > 2 ? std::atoll(argv[2]) : 2'200'000;
  dims = argc > 3 ? std::atoi(argv[3]) : 300;
  require(sqlite3_open(argc > 4 ? argv[4] : ":memory:", &db), "open");
  sqlite3_enable_load_extension(db, 1);
  require(sqlite3_load_extension(db, argv[1], nullptr, nullptr), "load_extension");
  execute(
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; CREATE TABLE doc(id INTEGER PRIMARY KEY, v "
      "BLOB)");
  // Segments that no sync joins: each has more than twice the rows of all smaller ones.
  std::vector<int64_t> sizes;
  int64_t rest = rows;
  for (int64_t size = 2100; size * 3 < rest; size = size * 16 / 5) {
    sizes.insert(sizes.begin(), size);
    rest -= size;
  }
  sizes.insert(sizes.begin(), rest);
  std::printf("{");
  int64_t next = 1;
  auto start = Clock::now();
  for (const int64_t size : sizes) {
    insert(next, size);
    if (next == 1) put("insert_s", us_since(start) * 1e-6);
    execute(next == 1
                ? "CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='v')"
                : "INSERT INTO doc_vec(doc_vec) VALUES ('sync')");
    next += size;
  }
  put("load_s", us_since(start) * 1e-6);
  put("segments", number("SELECT segments FROM glove_indexes"));
  start = Clock::now();
  sqlite3_stmt* const nearest = prepare(query_of("cuda", 10));
  double first_us, all_us;
  run(nearest, random_vector(), first_us, all_us);
  put("first_answer_ms", first_us * 1e-3);
  int64_t wrong = different_answers(10, 10) + different_answers(3, 100);
  time_queries("live", query_of("cuda", 10), 500);

  // New rows, and then changed and deleted ones.
  std::vector<double> first_rows;
  for (int i = 0; i < 6; ++i) {
    insert(next, 1000);
    next += 1000;
    execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')");
    run(nearest, random_vector(), first_us, all_us);
    std::printf("%s\n  \"sync_%d_first_row_ms\": %.4g", ",", i, first_us * 1e-3);
    first_rows.push_back(first_us * 1e-3);
    if (text("SELECT backend FROM glove_stats LIMIT 1") != "cuda") ++wrong;
  }
  put("sync_first_row_ms", first_rows);
  insert(5, 20);
  time_queries("live_20_logged", query_of("cuda", 10), 200);
  insert(1000, 1000);
  execute("DELETE FROM doc WHERE id BETWEEN 500 AND 700");
  run(nearest, random_vector(), first_us, all_us);
  put("logged_1200_first_ms", first_us * 1e-3);
  time_queries("live_1200_logged", query_of("cuda", 10), 200);
  wrong += different_answers(5, 10);
  execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')");
  run(nearest, random_vector(), first_us, all_us);
  put("sync_of_changes_first_ms", first_us * 1e-3);
  wrong += different_answers(10, 10) + different_answers(2, 1000);
  time_queries("live_1200_dead", query_of("cuda", 10), 200);
  put("segments_at_the_end", number("SELECT segments FROM glove_indexes"));

  start = Clock::now();
  text("SELECT glove_load_table('m', 'SELECT id, v FROM doc')");
  put("load_table_s", us_since(start) * 1e-6);
  const std::string model_query =
      "SELECT CAST(neighbor AS INTEGER), similarity FROM glove_nn WHERE expr = ?1 AND k = 10 AND backend = "
      "'cuda'";
  sqlite3_stmt* const model = prepare(model_query);
  run(model, random_vector());
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  for (int i = 0; i < 10; ++i) {
    const std::vector<float> vector = random_vector();
    wrong += run(model, vector) == run(nearest, vector) ? 0 : 1;
  }
  time_queries("model", model_query, 500);
  put("wrong_answers", static_cast<double>(wrong));
  std::printf(",\n  \"index\": \"%s\"\n}\n",
              text("SELECT backend || ', ' || state FROM glove_indexes").c_str());
  return wrong == 0 ? 0 : 1;
}
