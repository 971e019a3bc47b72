// Queries with a mask (Query::among) on a device and on the CPU, for shares of random admissible rows; on
// random unit vectors, one line of a Markdown table per share. The rows of both are compared.
//
//   among_bench [WORDS [DIMS]]
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bench/gpu/timing.h"
#include "tests/gpu/cuda_support.h"
#include "tests/search/reference.h"

namespace {

using namespace glove;
using namespace glove::bench;
using namespace glove::testing;

constexpr int64_t kRows = 10;
constexpr size_t kSingle = 40;

// Microseconds of one call.
double time_of(const char* backend, const ModelPtr& model, const std::vector<Query>& queries) {
  SearchReport report;
  rows_by(backend, model, queries, kRows, &report);
  return report.total_us;
}

// Medians of single queries that are the first with their mask, of others, and of batches of all of them.
void time_all(const char* backend, const ModelPtr& model, std::vector<Query> queries,
              const std::vector<int64_t>* rows) {
  std::vector<double> first, single, batch;
  for (size_t i = 0; i < kSingle; ++i) single.push_back(time_of(backend, model, {queries[i]}));
  for (int i = 0; i < 3; ++i) batch.push_back(time_of(backend, model, queries));
  for (size_t i = 0; i < 15 && rows != nullptr; ++i) {
    queries[i].among = mask_of(*model, *rows);
    first.push_back(time_of(backend, model, {queries[i]}));
  }
  std::printf(" %.1f | %.1f | %.2f |", rows == nullptr ? 0.0 : spread_of(first).median,
              spread_of(single).median, spread_of(batch).median / 1000);
}

size_t differences(const ModelPtr& model, const std::vector<Query>& queries) {
  const auto wanted = rows_by("cpu", model, queries, kRows);
  const auto batched = rows_by("cuda", model, queries, kRows);
  size_t wrong = 0;
  for (size_t i = 0; i < queries.size(); ++i) {
    wrong += difference(batched[i], wanted[i]).empty() ? 0 : 1;
    if (i < kSingle)
      wrong += difference(rows_by("cuda", model, {queries[i]}, kRows)[0], wanted[i]).empty() ? 0 : 1;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t words = argc > 1 ? std::atoll(argv[1]) : 2196016;
  const int64_t dims = argc > 2 ? std::atoll(argv[2]) : 300;
  std::mt19937_64 random(20);
  const ModelPtr model = large_model(random(), words, dims);
  std::vector<Query> queries = random_queries(random, *model, Rows::kGaussian, 1024);
  time_of("cuda", model, {queries[0]});
  std::this_thread::sleep_for(std::chrono::seconds(5));  // until the vectors are there
  std::printf("%ld x %ld, k = %ld; us of one query, ms of %zu\n\n", static_cast<long>(words),
              static_cast<long>(dims), static_cast<long>(kRows), queries.size());
  std::printf(
      "| admissible rows | first query | GPU, one | GPU, batch | CPU, one | CPU, batch | different |\n");
  std::printf("|--:|--:|--:|--:|--:|--:|--:|--:|\n");
  for (const double share : {0.00001, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 1.0}) {
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < words; ++row)
      if (static_cast<double>(random() >> 11) * 0x1p-53 < share) rows.push_back(row);
    const RowMaskPtr among = mask_of(*model, rows);
    for (Query& query : queries) query.among = among;
    std::printf("| %ld |", static_cast<long>(rows.size()));
    time_all("cuda", model, queries, &rows);
    time_all("cpu", model, queries, &rows);
    std::printf(" %zu |\n", differences(model, queries));
    std::fflush(stdout);
  }
  for (Query& query : queries) query.among = nullptr;
  std::printf("| all, no mask |");
  time_all("cuda", model, queries, nullptr);
  time_all("cpu", model, queries, nullptr);
  std::printf(" %zu |\n", differences(model, queries));
}
