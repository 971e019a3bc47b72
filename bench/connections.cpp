// Single queries from many connections at once: a closed loop in which every client is a thread with its own
// connection, a prepared statement, k = 10, and random words that it has not asked for before, so that no
// answer is cached. Every row is read. One line of JSON per number of clients, on stdout: queries per second,
// and the latency from the first step to the last row.
//
//   connections GLOVE.SO MODEL.SAFETENSORS BACKEND SECONDS CLIENTS...
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWarmUpSeconds = 1;
constexpr int kRows = 10;

struct Options {
  const char* extension;
  const char* model;
  std::string backend;
  double seconds;
};

void require(sqlite3* db, int code, const char* what) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  std::fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
  std::exit(1);
}

sqlite3* connect(const Options& options) {
  sqlite3* db = nullptr;
  require(db,
          sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                          nullptr),
          "open");
  sqlite3_enable_load_extension(db, 1);
  require(db, sqlite3_load_extension(db, options.extension, nullptr, nullptr), "loading the extension");
  return db;
}

sqlite3_stmt* prepare(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  require(db, sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr), sql.c_str());
  return statement;
}

int64_t number(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = prepare(db, sql);
  require(db, sqlite3_step(statement), sql.c_str());
  const int64_t value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return value;
}

// Reads the answer for the word with this id. Returns its microseconds.
double time_query(sqlite3* db, sqlite3_stmt* word, sqlite3_stmt* nearest, int64_t id) {
  sqlite3_bind_int64(word, 1, id);
  require(db, sqlite3_step(word), "word");
  sqlite3_bind_text(nearest, 1, reinterpret_cast<const char*>(sqlite3_column_text(word, 0)), -1,
                    SQLITE_TRANSIENT);
  sqlite3_reset(word);
  const auto start = Clock::now();
  int rows = 0;
  int code;
  while ((code = sqlite3_step(nearest)) == SQLITE_ROW) {
    if (sqlite3_column_text(nearest, 0) == nullptr || sqlite3_column_double(nearest, 1) > 1) std::exit(1);
    ++rows;
  }
  require(db, code, "nearest");
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  if (rows != kRows) std::exit(1);
  sqlite3_reset(nearest);
  return us;
}

// Asks until the time is over; returns the latencies after the warm-up.
std::vector<double> run_client(const Options& options, int64_t words, uint64_t seed, std::barrier<>& ready) {
  sqlite3* db = connect(options);
  sqlite3_stmt* word = prepare(db, "SELECT word FROM glove_words WHERE id = ?1");
  sqlite3_stmt* nearest = prepare(db, "SELECT neighbor, similarity FROM glove_nn WHERE word = ?1 AND k = " +
                                          std::to_string(kRows) + " AND backend = '" + options.backend + "'");
  std::mt19937_64 random(seed);
  const auto next = [&] { return static_cast<int64_t>(random() % static_cast<uint64_t>(words)); };
  time_query(db, word, nearest, next());
  ready.arrive_and_wait();
  const auto start = Clock::now();
  const auto warm = start + std::chrono::duration<double>(kWarmUpSeconds);
  const auto end = warm + std::chrono::duration<double>(options.seconds);
  std::vector<double> latencies;
  while (Clock::now() < end) {
    const bool counts = Clock::now() >= warm;
    const double us = time_query(db, word, nearest, next());
    if (counts) latencies.push_back(us);
  }
  sqlite3_finalize(word);
  sqlite3_finalize(nearest);
  sqlite3_close(db);
  return latencies;
}

void time_clients(const Options& options, int64_t words, int clients) {
  std::barrier<> ready(clients);
  std::vector<std::vector<double>> of_client(static_cast<size_t>(clients));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < of_client.size(); ++i)
    threads.emplace_back(
        [&, i] { of_client[i] = run_client(options, words, 1000 * of_client.size() + i, ready); });
  for (std::thread& thread : threads) thread.join();
  std::vector<double> all;
  for (const auto& latencies : of_client) all.insert(all.end(), latencies.begin(), latencies.end());
  std::sort(all.begin(), all.end());
  const auto percentile = [&](size_t of_100) { return all.empty() ? 0 : all[all.size() * of_100 / 100]; };
  std::printf(
      "{\"clients\": %d, \"per_second\": %.6g, \"p50_us\": %.5g, \"p99_us\": %.5g, \"most_us\": %.5g}\n",
      clients, static_cast<double>(all.size()) / options.seconds, percentile(50), percentile(99),
      all.empty() ? 0 : all.back());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const Options options{argv[1], argv[2], argv[3], std::atof(argv[4])};
  sqlite3* db = connect(options);
  sqlite3_stmt* load = prepare(db, "SELECT glove_load(?1)");
  sqlite3_bind_text(load, 1, options.model, -1, SQLITE_STATIC);
  require(db, sqlite3_step(load), "load");
  sqlite3_finalize(load);
  const int64_t words = number(db, "SELECT words FROM glove_models");
  for (int i = 5; i < argc; ++i) time_clients(options, words, std::max(1, std::atoi(argv[i])));
  sqlite3_close(db);
  return 0;
}
