// The CPU backend as nearest() sees it: dispatch, and rows that do not depend on it.
#include "cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/float_environment.h"
#include "model/quantize.h"
#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

// From this number of rows on, all threads score those that waited (cpu/search/coarse_search.cpp).
constexpr int64_t kRowsWorthThreads = 1024;

class EnvironmentTarget {
 public:
  explicit EnvironmentTarget(const char* target) { setenv("GLOVE_CPU_TARGET", target, 1); }
  ~EnvironmentTarget() { unsetenv("GLOVE_CPU_TARGET"); }
};

// The target is the last thing that a backend says of its device; "": it has none.
std::string target_of(const Backend& backend) {
  const std::string device = backend.info().device;
  const size_t comma = device.rfind(", ");
  return comma == std::string::npos ? std::string() : device.substr(comma + 2);
}

TEST(CpuDispatch, RunsTheFastestTargetByDefault) {
  unsetenv("GLOVE_CPU_TARGET");
  EXPECT_EQ(target_of(*make_cpu_backend()), cpu_targets().back());
  EXPECT_EQ(cpu_targets().front(), "scalar");
}

TEST(CpuDispatch, TheEnvironmentForcesEachTarget) {
  for (const std::string_view target : cpu_targets()) {
    const EnvironmentTarget environment(std::string(target).c_str());
    const auto backend = make_cpu_backend();
    EXPECT_TRUE(backend->available().ok());
    EXPECT_EQ(target_of(*backend), target);
    std::mt19937_64 random = make_random(1);
    const ModelPtr model = make_model(gaussian(3, 4, random));
    const std::string device = backend->open(model, {}).value()->info().device;
    EXPECT_EQ(backend->info().device, device);
    EXPECT_NE(device.find(", " + std::string(target)), std::string::npos) << device;
  }
}

// An unknown one, and every one that other machines have: a processor runs those of x86-64 or those of Arm.
TEST(CpuDispatch, AnAbsentTargetIsAnErrorThatListsTheTargets) {
  const std::vector<std::string_view> usable = cpu_targets();
  std::mt19937_64 random = make_random(2);
  const ModelPtr model = make_model(gaussian(3, 4, random));
  for (const std::string name :
       {"pentium", "sse4", "avx2", "avx512", "avx512vnni", "amx", "neon", "neondotprod"}) {
    if (std::find(usable.begin(), usable.end(), name) != usable.end()) continue;
    const EnvironmentTarget environment(name.c_str());
    const auto backend = make_cpu_backend();
    const Status status = backend->available();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(target_of(*backend), "");
    const std::string quoted = "'" + name + "'";
    EXPECT_NE(status.error().message.find(quoted), std::string::npos) << status.error().message;
    for (const std::string_view target : usable)
      EXPECT_NE(status.error().message.find(target), std::string::npos) << status.error().message;
    EXPECT_FALSE(backend->open(model, {}).ok());
    EXPECT_NE(backend->info().state.find(quoted), std::string::npos);
  }
}

// The first 50 rows of 1,000 random words have the same bits for every target, on 1, 2 and 7 threads.
TEST(CpuBackend, AThousandWordsGiveTheReferencesRows) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(3);
  const Matrix matrix = clustered(6000 / kShare, 100, random);
  const ModelPtr model = make_model(matrix);
  std::vector<Query> queries;
  for (int i = 0; i < 1000 / kShortShare; ++i)
    queries.push_back(row_query(matrix, static_cast<int64_t>(random() % static_cast<uint64_t>(matrix.rows))));
  std::vector<std::vector<Row>> expected;
  for (const Query& query : queries) expected.push_back(reference_rows(matrix, query, 50));
  for (const Variant& variant : all_variants({1, 2, 7})) {
    SCOPED_TRACE(variant.name);
    const auto batch = backend_rows(*variant.backend, model, queries, 50);
    ASSERT_EQ(batch.size(), queries.size());
    for (size_t q = 0; q < queries.size(); ++q) ASSERT_EQ(batch[q], expected[q]) << "query " << q;
    for (size_t q = 0; q < 20; ++q)  // one query uses other kernels than many
      ASSERT_EQ(backend_rows(*variant.backend, model, {&queries[q], 1}, 50)[0], expected[q]) << "query " << q;
  }
}

TEST(CpuBackend, EveryBatchSizeGivesTheSameRows) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(4);
  const Matrix matrix = clustered(333, 37, random);
  const ModelPtr model = make_model(matrix);
  std::vector<Query> queries;
  std::vector<std::vector<Row>> expected;
  for (int64_t i = 0; i < 40; ++i) {
    queries.push_back(row_query(matrix, i));
    expected.push_back(reference_rows(matrix, queries.back(), 7));
  }
  for (const Variant& variant : all_variants({1, 2}))
    for (size_t size = 1; size <= queries.size(); ++size) {
      SCOPED_TRACE(variant.name + ", " + std::to_string(size) + " queries");
      const auto rows = backend_rows(*variant.backend, model, {queries.data(), size}, 7);
      ASSERT_EQ(rows, std::vector<std::vector<Row>>(expected.begin(),
                                                    expected.begin() + static_cast<ptrdiff_t>(size)));
    }
}

TEST(CpuBackend, ScoresEveryRowExactly) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(5);
  for (const int64_t dims : {1, 3, 8, 50, 100, 301}) {
    const Matrix matrix = gaussian(1234, dims, random);
    const ModelPtr model = make_model(matrix);
    const Query query = row_query(matrix, 17);
    for (const Variant& variant : all_variants({1, 2, 7})) {
      SCOPED_TRACE(variant.name);
      std::vector<double> dots(1234);
      ScanCost cost;
      const ScopedFloatEnvironment environment;
      ASSERT_TRUE(variant.backend->open(model, {}).value()->score_all(query, dots, {}, cost).ok());
      for (int64_t i = 0; i < matrix.rows; ++i)
        ASSERT_EQ(dots[static_cast<size_t>(i)], reference_dot(matrix.row(17), matrix.row(i), dims)) << i;
    }
  }
}

TEST(CpuBackend, CountsWhatItCosts) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(6);
  const Matrix matrix = gaussian(1000, 20, random);
  const ModelPtr model = make_model(matrix);
  const std::vector<Query> queries = {row_query(matrix, 0), row_query(matrix, 1)};
  const ScopedFloatEnvironment environment;
  const auto backend = make_cpu_backend();
  std::vector<SearchRequest> requests;
  ASSERT_TRUE(search(*backend, model, queries, 5, {}, requests).ok());
  ScanCost cost;
  for (const SearchRequest& request : requests) cost.add(request.cost);
  EXPECT_EQ(cost.rows_scanned, 2000);
  EXPECT_EQ(cost.bytes_scanned, 1024 * 20 + 1000 * 8);
  EXPECT_GE(cost.candidates, 10);
  EXPECT_LE(cost.candidates, 2000);
}

// As of the rows of a live index that have changed: their codes are neither read nor compared. Other tiles
// have rows of both kinds.
TEST(CpuBackend, SkipsTilesWithoutARowThatCounts) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(7);
  const Matrix matrix = gaussian(1000, 20, random);
  const ModelPtr model = make_model(matrix);
  const ScopedFloatEnvironment environment;
  std::vector<Query> queries = {row_query(matrix, 0), row_query(matrix, 1)};
  queries[0].excluded = {3, 5};
  for (int32_t row = 70; row < 1000; ++row)  // 29 tiles of up to 32 rows, but for one row
    if (row != 500) queries[0].excluded.push_back(row);
  for (const bool alike : {true, false}) {
    queries[1].excluded = alike ? queries[0].excluded : std::vector<int32_t>{7};
    for (const size_t count : {size_t{1}, size_t{2}}) {
      const std::span asked(queries.data(), count);
      std::vector<SearchRequest> requests;
      ASSERT_TRUE(search(*make_cpu_backend(), model, asked, 5, {}, requests).ok());
      ScanCost cost;
      for (const SearchRequest& request : requests) cost.add(request.cost);
      const int64_t rows = alike || count == 1 ? 4 * 32 : 1024;
      EXPECT_EQ(cost.bytes_scanned, rows * 20 + std::min<int64_t>(rows, 1000) * 8);
      for (const Variant& variant : all_variants({1, 2})) {
        SCOPED_TRACE(variant.name);
        const auto found = backend_rows(*variant.backend, model, asked, 5);
        for (size_t i = 0; i < count; ++i) EXPECT_EQ(found[i], reference_rows(matrix, queries[i], 5));
      }
    }
  }
}

// One query reads the codes of 4 bits of all rows, and those of 8 bits only where it must.
TEST(CpuBackend, CountsWhatASearchIn2StepsCosts) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(8);
  constexpr int64_t kRows = 40000;
  const Matrix random_rows = gaussian(kRows, 256, random);
  Matrix near = random_rows;  // around one direction, closer than 4 bits can tell
  for (float& x : near.values) x = 1.0f + x * 1e-3f;
  const ScopedFloatEnvironment environment;
  for (const Matrix* matrix : {&random_rows, static_cast<const Matrix*>(&near)}) {
    const ModelPtr model = make_model(*matrix);
    const std::vector<Query> queries = {make_query(matrix->row(0), 256)};
    std::vector<SearchRequest> requests;
    ASSERT_TRUE(
        search(*make_cpu_backend({.target = "", .threads = 1}), model, queries, 1, {}, requests).ok());
    const ScanCost& cost = requests.front().cost;
    EXPECT_EQ(cost.rows_scanned, kRows);
    EXPECT_GE(cost.candidates, 1);
    if (matrix == &random_rows) {
      EXPECT_EQ(cost.bytes_scanned, kRows * (128 + 8));
      EXPECT_LE(cost.candidates, 100);
    } else {
      EXPECT_GT(cost.bytes_scanned, kRows * (200 + 8));
    }
  }
}

// Of random rows of many dimensions the bounds of 4 bits leave many. Whether a search that has met so many
// goes on with 8 bits depends on the data.
TEST(CpuBackend, ManyRandomRowsRemainAfter4Bits) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(9);
  const Matrix matrix = gaussian(100000 / kShare, 96, random);
  const ModelPtr model = make_model(matrix);
  const std::vector<Query> queries = {row_query(matrix, 3)};
  for (const int64_t k : {1, 10, 25}) {
    const std::vector<Row> expected = reference_rows(matrix, queries[0], k);
    for (const int threads : {1, 3}) {
      SCOPED_TRACE("k = " + std::to_string(k) + ", threads: " + std::to_string(threads));
      const auto backend =
          make_cpu_backend({.target = "", .threads = threads, .first_level = FirstLevel::kCoarsest});
      ASSERT_EQ(backend_rows(*backend, model, queries, k)[0], expected);
    }
  }
}

// Random rows, except that some are next to row 3 and some a little further from it. Rows next to row 3 fill
// the first tile, and every 2,048th row is one, so that every thread soon has its threshold. It rules out the
// random rows, whose cosines are below 0.7, but not those that wait: they are at an angle of about 0.115 to
// row 3, the threshold is between 0.08 and 0.1, and the codes of 4 bits are off by about 0.08.
struct WaitingRows {
  explicit WaitingRows(std::mt19937_64& random) : matrix(gaussian(100000 / kShare, 96, random)) {
    for (int64_t i = 0; i < matrix.rows; ++i) {
      const bool is_near = i < 32 || i % 2048 == 0;
      if (i == 3 || (!is_near && i % 90 != 0)) continue;
      near += is_near;
      for (int64_t j = 0; j < matrix.dims; ++j)
        matrix.row(i)[j] = matrix.row(3)[j] + (is_near ? 0.1f : 0.115f) * matrix.row(i)[j];
    }
  }

  Matrix matrix;
  int64_t near = 0;  // rows
};

// So many rows wait that all threads score them, and not so many that the search goes on with 8 bits.
TEST(CpuBackend, ManyRowsWaitForTheirScores) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(11);
  const WaitingRows rows(random);
  const ModelPtr model = make_model(rows.matrix);
  const std::vector<Query> queries = {row_query(rows.matrix, 3)};
  const ScopedFloatEnvironment environment;
  for (const int64_t k : {1, 10, 25}) {
    const std::vector<Row> expected = reference_rows(rows.matrix, queries[0], k);
    for (const int threads : {1, 3}) {
      SCOPED_TRACE("k = " + std::to_string(k) + ", threads: " + std::to_string(threads));
      const auto backend =
          make_cpu_backend({.target = "", .threads = threads, .first_level = FirstLevel::kCoarsest});
      std::vector<SearchRequest> requests;
      ASSERT_TRUE(search(*backend, model, queries, k, {}, requests).ok());
      std::vector<Row> found;
      for (const Neighbor& row : requests.front().rows) found.push_back({row.id, row.similarity});
      ASSERT_EQ(found, expected);
      // For k > 1 a thread that does not begin with the first rows may have no threshold for long.
      if (kShare != 1 || (threads > 1 && k > 1)) continue;
      const ScanCost& cost = requests.front().cost;
      EXPECT_EQ(cost.bytes_scanned, rows.matrix.rows * (48 + 8)) << "by 4 bits only";
      // The scan scores no other rows at once than near ones and, while it has no threshold, 4 per thread.
      EXPECT_GE(cost.candidates, kRowsWorthThreads + rows.near + 4 * 3);
    }
  }
}

TEST(CpuBackend, AnInterruptStopsASearchIn2StepsAtAnyTime) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(10);
  const Matrix matrix = gaussian(20000, 64, random);
  const ModelPtr model = make_model(matrix);
  const std::vector<Query> queries = {row_query(matrix, 0)};
  const std::vector<Row> expected = reference_rows(matrix, queries[0], 5);
  const ScopedFloatEnvironment environment;
  for (const int threads : {1, 2}) {
    const auto backend =
        make_cpu_backend({.target = "", .threads = threads, .first_level = FirstLevel::kCoarsest});
    int64_t granted = 0;
    for (;; ++granted) {
      int64_t calls = 0;
      std::vector<SearchRequest> requests;
      const Status result = search(
          *backend, model, queries, 5, [&] { return ++calls > granted; }, requests);
      if (result.ok()) {
        std::vector<Row> rows;
        for (const Neighbor& row : requests.front().rows) rows.push_back({row.id, row.similarity});
        ASSERT_EQ(rows, expected);
        break;
      }
      ASSERT_EQ(result.error().code, ErrorCode::kInterrupted);
    }
    EXPECT_GE(granted, 2) << "asks at least once per step";
  }
}

TEST(CpuBackend, AnInterruptStopsTheScan) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(7);
  const Matrix matrix = gaussian(20000, 64, random);
  const ModelPtr model = make_model(matrix);
  std::vector<Query> queries(200, row_query(matrix, 0));
  const ScopedFloatEnvironment environment;
  for (const Variant& variant : all_variants({1, 2})) {
    SCOPED_TRACE(variant.name);
    std::vector<SearchRequest> requests;
    const Status result = search(
        *variant.backend, model, queries, 5, [] { return true; }, requests);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kInterrupted);
    requests.clear();
    EXPECT_FALSE(search(
                     *variant.backend, model, {queries.data(), 1}, 5, [] { return true; }, requests)
                     .ok());
  }
}

}  // namespace
}  // namespace glove::test
