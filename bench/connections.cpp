// Single queries from many connections at once: a closed loop in which every client is a thread with its own
// connection, a prepared statement, k = 10, and random words that it has not asked for before, so that no
// answer is cached. Every row is read. One line of JSON per number of clients, on stdout: queries per second,
// and the latency from the first step to the last row.
//
//   connections GLOVE.SO MODEL.SAFETENSORS BACKEND SECONDS CLIENTS...
#include <algorithm>
#include <barrier>
#include <thread>

#include "bench/sql.h"
#include "bench/timing.h"

namespace {

using namespace glove::bench;

constexpr double kWarmUpSeconds = 1;
constexpr int kRows = 10;

struct Options {
  const char* extension;
  std::string backend;
  double seconds;
};

// Reads the answer for the word with this id. Returns its microseconds.
double time_query(Statement& word, Statement& nearest, int64_t id) {
  word.bind(1, id);
  word.step();
  const std::string text = word.text(0);
  nearest.bind(1, text);
  word.reset();
  const auto start = Clock::now();
  int rows = 0;
  for (; nearest.step(); ++rows)
    if (*nearest.text(0) == '\0' || nearest.number(1) > 1) std::exit(1);
  const double us = us_since(start);
  if (rows != kRows) std::exit(1);
  return us;
}

// Asks until the time is over; returns the latencies after the warm-up.
std::vector<double> run_client(const Options& options, int64_t words, uint64_t seed, std::barrier<>& ready) {
  const Connection db(options.extension, SQLITE_OPEN_NOMUTEX);
  Statement word(db.get(), "SELECT word FROM glove_words WHERE id = ?1");
  Statement nearest(db.get(), "SELECT neighbor, similarity FROM glove_nn WHERE word = ?1 AND k = " +
                                  std::to_string(kRows) + " AND backend = '" + options.backend + "'");
  std::mt19937_64 random(seed);
  const auto next = [&] { return static_cast<int64_t>(random() % static_cast<uint64_t>(words)); };
  time_query(word, nearest, next());
  ready.arrive_and_wait();
  const auto start = Clock::now();
  const double warm_us = kWarmUpSeconds * 1e6, end_us = warm_us + options.seconds * 1e6;
  std::vector<double> latencies;
  for (double now = 0; now < end_us; now = us_since(start)) {
    const double us = time_query(word, nearest, next());
    if (now >= warm_us) latencies.push_back(us);
  }
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
  const Options options{argv[1], argv[3], std::atof(argv[4])};
  const Connection db(options.extension);
  db.text("SELECT glove_load('" + std::string(argv[2]) + "')");
  const auto words = static_cast<int64_t>(db.number("SELECT words FROM glove_models"));
  for (int i = 5; i < argc; ++i) time_clients(options, words, std::max(1, std::atoi(argv[i])));
  return 0;
}
