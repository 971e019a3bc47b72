// Times searches of several models through SQL in one process, in turns: what a statement takes from the
// first step to the last row, without the overhead of a scripting language. The best of the rounds of each
// query, and the ratio of the means and of the medians to the first search. The rows are compared.
//
//   sql_turns GLOVE.SO K[,K...] QUERIES ROUNDS FILE...
//
// The queries are random rows of the first model, whose words all models have.
#include <algorithm>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#include "bench/sql.h"
#include "bench/timing.h"

namespace {

using namespace glove::bench;
using Rows = std::vector<std::pair<std::string, double>>;

struct Search {
  std::string file;
  std::vector<double> best = {};  // us, of each query
};

// Returns the time of a statement in us, and its rows.
double timed(Statement& statement, const std::string& expression, int k, const Search& search, Rows& rows) {
  rows.clear();
  statement.bind(1, expression);
  statement.bind(2, int64_t{k});
  statement.bind(3, search.file);
  const auto start = Clock::now();
  while (statement.step()) rows.emplace_back(statement.text(0), statement.number(1));
  return us_since(start);
}

double mean(const std::vector<double>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

double median(const std::vector<double>& times) {
  return spread_of(times).median;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "sql_turns GLOVE.SO K[,K...] QUERIES ROUNDS FILE...\n");
    return 2;
  }
  const Connection db(argv[1]);
  std::vector<Search> searches;
  for (int i = 5; i < argc; ++i) {
    searches.push_back({argv[i]});
    Statement load(db.get(),
                   "SELECT glove_load(?1, ?1) WHERE NOT EXISTS (SELECT 1 FROM glove_models WHERE name = ?1)");
    load.bind(1, searches.back().file);
    load.step();
  }
  const auto queries = static_cast<size_t>(std::atoi(argv[3]));
  const int rounds = std::atoi(argv[4]);
  const std::vector<std::string> words = db.random_words(searches.front().file, queries, 2);
  Statement statement(db.get(),
                      "SELECT neighbor, similarity FROM glove_nn WHERE expr = ? AND k = ? AND model = ?");
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
    for (Search& search : searches) search.best.assign(queries, std::numeric_limits<double>::infinity());
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
  return 0;
}
