// Times searches of several models through SQL in one process, in turns: what a statement takes from the
// first step to the last row, without the overhead of a scripting language. The best of the rounds of each
// query, and the ratio of the means and of the medians to the first search. The rows are compared.
//
//   sql_turns GLOVE.SO K[,K...] QUERIES ROUNDS FILE...
//
// The queries are random rows of the first model, whose words all models have.
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

sqlite3* db = nullptr;

void require(int code, const char* what) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  std::fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
  std::exit(1);
}

sqlite3_stmt* prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  require(sqlite3_prepare_v2(db, sql, -1, &statement, nullptr), sql);
  return statement;
}

using Rows = std::vector<std::pair<std::string, double>>;

struct Search {
  std::string file;
  std::vector<double> best = {};  // us, of each query
};

// Returns the time of a statement in us, and its rows.
double timed(sqlite3_stmt* statement, const std::string& expression, int k, const Search& search,
             Rows& rows) {
  rows.clear();
  require(sqlite3_bind_text(statement, 1, expression.c_str(), -1, nullptr), "bind");
  require(sqlite3_bind_int(statement, 2, k), "bind");
  require(sqlite3_bind_text(statement, 3, search.file.c_str(), -1, nullptr), "bind");
  const Clock::time_point start = Clock::now();
  int code = 0;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW)
    rows.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)),
                      sqlite3_column_double(statement, 1));
  require(code, "step");
  const double taken = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  require(sqlite3_reset(statement), "reset");
  return taken;
}

double mean(const std::vector<double>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

std::vector<std::string> random_words(const std::string& model, int count) {
  sqlite3_stmt* statement = prepare("SELECT word FROM glove_words WHERE model = ? AND id = ?");
  require(sqlite3_bind_text(statement, 1, model.c_str(), -1, nullptr), "bind");
  sqlite3_stmt* size = prepare("SELECT words FROM glove_models WHERE name = ?");
  require(sqlite3_bind_text(size, 1, model.c_str(), -1, nullptr), "bind");
  require(sqlite3_step(size), "glove_models");
  std::mt19937_64 random(2);
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) {
    const auto row =
        static_cast<sqlite3_int64>(random() % static_cast<uint64_t>(sqlite3_column_int64(size, 0)));
    require(sqlite3_bind_int64(statement, 2, row), "bind");
    require(sqlite3_step(statement), "glove_words");
    words.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)));
    require(sqlite3_reset(statement), "reset");
  }
  sqlite3_finalize(size);
  sqlite3_finalize(statement);
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "sql_turns GLOVE.SO K[,K...] QUERIES ROUNDS FILE...\n");
    return 2;
  }
  require(sqlite3_open(":memory:", &db), "open");
  require(sqlite3_enable_load_extension(db, 1), "enable");
  require(sqlite3_load_extension(db, argv[1], nullptr, nullptr), argv[1]);
  std::vector<Search> searches;
  sqlite3_stmt* load =
      prepare("SELECT glove_load(?1, ?1) WHERE NOT EXISTS (SELECT 1 FROM glove_models WHERE name = ?1)");
  for (int i = 5; i < argc; ++i) {
    searches.push_back({argv[i]});
    require(sqlite3_bind_text(load, 1, searches.back().file.c_str(), -1, nullptr), "bind");
    require(sqlite3_step(load), searches.back().file.c_str());
    require(sqlite3_reset(load), "reset");
  }
  sqlite3_finalize(load);
  const int queries = std::atoi(argv[3]);
  const int rounds = std::atoi(argv[4]);
  const std::vector<std::string> words = random_words(searches.front().file, queries);
  sqlite3_stmt* statement =
      prepare("SELECT neighbor, similarity FROM glove_nn WHERE expr = ? AND k = ? AND model = ?");
  Rows rows;
  // An equal expression would have its answer kept. A GPU copies vectors and planes beside the first
  // searches.
  int turn = 0;
  const auto expression = [&](size_t query) {
    return std::to_string(1 + static_cast<double>(turn) / 4096) + " * " + words[query];
  };
  for (const Search& search : searches)
    for (int i = 0; i < 100; ++i, ++turn) {
      timed(statement, expression(0), 10, search, rows);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  for (const char* next = argv[2]; *next != '\0';) {
    char* end = nullptr;
    const int k = static_cast<int>(std::strtol(next, &end, 10));
    next = *end == ',' ? end + 1 : end;
    for (Search& search : searches)
      search.best.assign(static_cast<size_t>(queries), std::numeric_limits<double>::infinity());
    int differ = 0;
    for (int round = 0; round < rounds; ++round, ++turn)
      for (size_t query = 0; query < words.size(); ++query) {
        Rows first;
        for (Search& search : searches) {
          search.best[query] =
              std::min(search.best[query], timed(statement, expression(query), k, search, rows));
          if (&search == &searches.front()) first = rows;
          differ += rows != first ? 1 : 0;
        }
      }
    std::printf("k = %d: %d answers differ\n", k, differ);
    for (const Search& search : searches)
      std::printf("  %s: mean %.1f us, median %.1f us; ratio %.3f, of medians %.3f\n", search.file.c_str(),
                  mean(search.best), median(search.best), mean(search.best) / mean(searches.front().best),
                  median(search.best) / median(searches.front().best));
  }
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return 0;
}
