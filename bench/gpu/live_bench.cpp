// A live index through SQL: what a query costs from sqlite3_step to its last row beside glove_nn over the
// same vectors, and the time from the return of a sync to the first row of a query. One JSON object on
// stdout. Rows of both backends are compared.
//
//   live_bench GLOVE.SO [ROWS [DIMS [DATABASE]]]
#include <thread>
#include <utility>

#include "bench/sql.h"
#include "bench/timing.h"

namespace {

using namespace glove::bench;
using Rows = std::vector<std::pair<int64_t, double>>;

const Connection* db = nullptr;
int dims = 300;
uint64_t state = 0x9E3779B97F4A7C15u;

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
  db->execute("BEGIN");
  Statement statement(db->get(), "INSERT OR REPLACE INTO doc VALUES (?, ?)");
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<float> vector = random_vector();
    statement.bind(1, first + i);
    statement.bind(2, vector);
    statement.step();
  }
  db->execute("COMMIT");
}

// Runs a query for a vector; sets the time to the first row and to the last.
Rows run(Statement& statement, const std::vector<float>& vector, double& first_us, double& all_us) {
  Rows rows;
  statement.bind(1, vector);
  const auto start = Clock::now();
  while (statement.step()) {
    if (rows.empty()) first_us = us_since(start);
    rows.emplace_back(statement.integer(0), statement.number(1));
  }
  all_us = us_since(start);
  return rows;
}

Rows run(Statement& statement, const std::vector<float>& vector) {
  double first_us, all_us;
  return run(statement, vector, first_us, all_us);
}

std::string query_of(const std::string& backend, int k) {
  return "SELECT id, similarity FROM doc_vec WHERE query = ?1 AND k = " + std::to_string(k) +
         " AND backend = '" + backend + "'";
}

// Returns for how many queries the two backends differ.
int64_t different_answers(int queries, int k) {
  Statement cuda(db->get(), query_of("cuda", k)), cpu(db->get(), query_of("cpu", k));
  int64_t different = 0;
  for (int i = 0; i < queries; ++i) {
    const std::vector<float> vector = random_vector();
    different += run(cuda, vector) == run(cpu, vector) ? 0 : 1;
  }
  return different;
}

void time_queries(const std::string& key, const std::string& sql, int count) {
  Statement statement(db->get(), sql);
  std::vector<double> us;
  for (int i = 0; i < count + 20; ++i) {
    double first_us, all_us;
    const Rows rows = run(statement, random_vector(), first_us, all_us);
    if (rows.size() != 10) std::exit(1);
    if (i >= 20) us.push_back(all_us);
  }
  put(key + "_us", us);
  for (const std::string name : {"scan_us", "select_us", "rescore_us", "candidates"})
    put(key + "_" + name, db->number("SELECT avg(" + name + ") FROM (SELECT * FROM glove_stats LIMIT 100)"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int64_t rows = argc > 2 ? std::atoll(argv[2]) : 2'200'000;
  dims = argc > 3 ? std::atoi(argv[3]) : 300;
  const Connection connection(argv[1], SQLITE_OPEN_FULLMUTEX, argc > 4 ? argv[4] : ":memory:");
  db = &connection;
  db->execute(
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
    db->execute(next == 1
                    ? "CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='v')"
                    : "INSERT INTO doc_vec(doc_vec) VALUES ('sync')");
    next += size;
  }
  put("load_s", us_since(start) * 1e-6);
  put("segments", db->number("SELECT segments FROM glove_indexes"));
  start = Clock::now();
  Statement nearest(db->get(), query_of("cuda", 10));
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
    db->execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')");
    run(nearest, random_vector(), first_us, all_us);
    std::printf("%s\n  \"sync_%d_first_row_ms\": %.4g", ",", i, first_us * 1e-3);
    first_rows.push_back(first_us * 1e-3);
    if (db->text("SELECT backend FROM glove_stats LIMIT 1") != "cuda") ++wrong;
  }
  put("sync_first_row_ms", first_rows);
  insert(5, 20);
  time_queries("live_20_logged", query_of("cuda", 10), 200);
  insert(1000, 1000);
  db->execute("DELETE FROM doc WHERE id BETWEEN 500 AND 700");
  run(nearest, random_vector(), first_us, all_us);
  put("logged_1200_first_ms", first_us * 1e-3);
  time_queries("live_1200_logged", query_of("cuda", 10), 200);
  wrong += different_answers(5, 10);
  db->execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')");
  run(nearest, random_vector(), first_us, all_us);
  put("sync_of_changes_first_ms", first_us * 1e-3);
  wrong += different_answers(10, 10) + different_answers(2, 1000);
  time_queries("live_1200_dead", query_of("cuda", 10), 200);
  put("segments_at_the_end", db->number("SELECT segments FROM glove_indexes"));

  start = Clock::now();
  db->text("SELECT glove_load_table('m', 'SELECT id, v FROM doc')");
  put("load_table_s", us_since(start) * 1e-6);
  const std::string model_query =
      "SELECT CAST(neighbor AS INTEGER), similarity FROM glove_nn WHERE expr = ?1 AND k = 10 AND backend = "
      "'cuda'";
  Statement model(db->get(), model_query);
  run(model, random_vector());
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  for (int i = 0; i < 10; ++i) {
    const std::vector<float> vector = random_vector();
    wrong += run(model, vector) == run(nearest, vector) ? 0 : 1;
  }
  time_queries("model", model_query, 500);
  put("wrong_answers", static_cast<double>(wrong));
  std::printf(",\n  \"index\": \"%s\"\n}\n",
              db->text("SELECT backend || ', ' || state FROM glove_indexes").c_str());
  return wrong == 0 ? 0 : 1;
}
