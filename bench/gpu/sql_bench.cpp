// Timings through SQL: what a statement costs from sqlite3_step to its last row. One JSON object on stdout.
//
//   sql_bench GLOVE.SO MODEL.SAFETENSORS OTHER [BACKEND]      OTHER: a small model, which warms the process
//   up
#include <iterator>
#include <span>
#include <thread>
#include <utility>

#include "bench/sql.h"
#include "bench/timing.h"

namespace {

using namespace glove::bench;

// Reads all rows: as many words, the similarity and the rank. Returns the number of rows.
int64_t read_all(Statement& statement, int words) {
  int64_t rows = 0;
  static int64_t sink = 0;
  for (; statement.step(); ++rows) {
    for (int i = 0; i < words; ++i) sink += statement.text(i)[0];
    sink += static_cast<int64_t>(statement.number(words) * 1e6) + statement.integer(words + 1);
  }
  return rows;
}

// Adds the times of 200 single queries for k rows, after 20 others. The queries are the names from `first`
// on, which nobody has searched for, because answers are cached.
void time_single_queries(const Connection& db, const std::string& backend,
                         const std::vector<std::string>& names, size_t first, int k,
                         std::vector<double>& times) {
  Statement nearest(
      db.get(), "SELECT neighbor, similarity, rank FROM glove_nn WHERE word = ?1 AND k = ?2 AND backend = '" +
                    backend + "'");
  for (size_t i = 0; i < 220; ++i) {
    nearest.bind(1, names[(first + i) % names.size()]);
    nearest.bind(2, int64_t{k});
    const auto start = Clock::now();
    if (read_all(nearest, 1) != k) std::exit(1);
    const double us = us_since(start);
    if (i >= 20) times.push_back(us);
  }
}

// Adds the time of the first answer after glove_load().
double first_answer_us(const Connection& db, const std::string& backend, int k) {
  const auto start = Clock::now();
  db.text("SELECT count(*) FROM glove_nn WHERE word = (SELECT word FROM glove_words WHERE id = 5) AND k = " +
          std::to_string(k) + " AND backend = '" + backend + "'");
  return us_since(start);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string backend = argc > 4 ? argv[4] : "cuda";
  const Connection db(argv[1]);
  // Warms up the context, the staging memory and the first launch; the file to time is then a model that
  // nobody has used yet.
  db.text("SELECT glove_load('" + std::string(argv[3]) + "', 'warm')");
  first_answer_us(db, backend, 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  db.text("SELECT glove_unload('warm')");
  std::vector<double> first_answers;
  for (int i = 0; i < 7; ++i) {
    if (i > 0) db.text("SELECT glove_unload('main')");
    // The driver clears the freed 3 GB with its copy engine.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    db.text("SELECT glove_load('" + std::string(argv[2]) + "', 'main')");
    first_answers.push_back(first_answer_us(db, backend, 10) * 1e-3);
    std::this_thread::sleep_for(std::chrono::milliseconds(400));  // the float32 rows follow
  }
  std::printf("{");
  put("words", db.number("SELECT words FROM glove_models"));
  put("first_answer_ms_cold", first_answers[0]);
  put("first_answer_ms", first_answers);

  const std::vector<std::string> names = db.random_words("main", 1400, 7);
  // In serialized mode, and in the mode for a program with one connection per thread, in which SQLite takes
  // no locks. In rounds, because the load from a host's other guests changes.
  const Connection unlocked(argv[1], SQLITE_OPEN_NOMUTEX);
  constexpr int kRows[] = {1, 10, 100, 1000};
  std::vector<double> times_of[2][std::size(kRows)];
  for (size_t round = 0; round < 5; ++round) {
    for (size_t mode = 0; mode < 2; ++mode)
      for (size_t i = 0; i < std::size(kRows); ++i)
        time_single_queries(mode == 0 ? db : unlocked, backend, names, round * 220, kRows[i],
                            times_of[mode][i]);
  }
  for (size_t i = 0; i < std::size(kRows); ++i) {
    const std::string key = "k" + std::to_string(kRows[i]);
    put(key + "_us", times_of[0][i]);
    put(key + "_nomutex_us", times_of[1][i]);
    std::vector<double> once_more;
    time_single_queries(db, backend, names, 5 * 220, kRows[i], once_more);  // for glove_stats
    for (const auto& [name, stages] :
         {std::pair("scan", "scan_us"), std::pair("stages", "resolve_us + scan_us + select_us + rescore_us"),
          std::pair("total", "total_us")})
      put(key + "_" + name + "_us",
          db.number(std::string("SELECT avg(") + stages + ") FROM (SELECT * FROM glove_stats LIMIT 100)"));
    put(key + "_beside_stats_us", once_more);
  }

  // Times the rows alone: the answer is cached, and its words are in the processor's cache.
  std::vector<double> kept;
  time_single_queries(db, backend, std::vector<std::string>(1, names[0]), 0, 1000, kept);
  put("k1000_kept_us", kept);

  db.execute("CREATE TABLE tags(tag TEXT)");
  Statement insert(db.get(), "INSERT INTO tags VALUES (?)");
  for (const std::string& name : std::span(names).first(1024)) {
    insert.bind(1, name);
    insert.step();
  }
  Statement batch(
      db.get(),
      "SELECT word, neighbor, similarity, rank FROM glove_nn WHERE word IN (SELECT tag FROM tags) AND "
      "k = 10 AND backend = '" +
          backend + "'");
  std::vector<double> times;
  int64_t rows = 0;
  for (int i = 0; i < 14; ++i) {
    const auto start = Clock::now();
    rows = read_all(batch, 2);
    if (i >= 4) times.push_back(us_since(start));
  }
  put("batch_rows", static_cast<double>(rows));
  put("batch_us", times);
  put("batch_scan_us", db.number("SELECT scan_us FROM glove_stats LIMIT 1"));
  put("batch_stages_us", db.number("SELECT scan_us + select_us + rescore_us FROM glove_stats LIMIT 1"));
  put("batch_total_us", db.number("SELECT total_us FROM glove_stats LIMIT 1"));
  std::printf("\n}\n");
  return 0;
}
