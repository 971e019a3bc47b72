// The bounds of shifted codes (model/shifted_codes.h), for every kernel, on rows and queries that are near,
// far from the origin, long and short, equal, zero, and too long for float32. GLOVE_TEST_RUNS: how many times
// 60 rows and 8 queries each; 3,000 are more than a million pairs per metric and kernel.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <deque>
#include <limits>
#include <string>

#include "base/float_environment.h"
#include "cpu/kernels/kernels.h"
#include "model/shifted_codes.h"
#include "tests/cpu/plain_kernels.h"
#include "tests/cpu/test_support.h"
#include "tests/model/shifted_rows.h"
#include "tests/share.h"

namespace glove::test {
namespace {

using cpu::Collector;
using cpu::Kernels;
using cpu::ScanKernel;
using cpu::SharedBounds;
using testing::Coded;
using testing::kShiftedRows;
using testing::some_rows;
using Kind = testing::ShiftedKind;
using enum testing::ShiftedKind;

// What the bounds are of: the inner product, or |q - m|^2 - |q - x|^2.
long double truth(RowMetric metric, const Shift& shift, const float* query, const float* row) {
  long double sum = 0;
  for (size_t j = 0; j < shift.mean.size(); ++j) {
    const long double q = query[j], x = row[j], m = shift.mean[j];
    // The difference of the squares, without cancellation.
    sum += metric == RowMetric::kDot ? q * x : (x - m) * (2 * q - m - x);
  }
  return sum;
}

struct NamedKernel {
  std::string name;
  const ScanKernel* kernel;
};

std::vector<NamedKernel> shifted_kernels() {
  std::vector<NamedKernel> all;
  for (const Kernels* kernels : cpu::usable_kernels()) {
    all.push_back({std::string(kernels->name) + ", one query", kernels->single_query});
    all.push_back({std::string(kernels->name) + ", batch", kernels->batch});
  }
  return all;
}

class Shifted : public ::testing::Test {
 protected:
  // Scans all rows for queries of which each has its threshold, and passes what is offered.
  template <class Use>
  void scan(const ScanKernel& kernel, const Coded& coded, std::span<const QuantizedQuery> queries,
            std::span<const float> thresholds, const Use& use) {
    std::deque<SharedBounds> shared;
    std::vector<Collector> collectors;
    for (const float threshold : thresholds) {
      shared.emplace_back(4096).threshold().raise(threshold);
      collectors.emplace_back(std::span<const int32_t>(), nullptr, shared.back()).refresh();
    }
    std::vector<int8_t> packed;
    kernel.pack(queries, component_groups(coded.part.dims), packed);
    kernel.scan(coded.part, coded.part.level(8), 0, tile_count(coded.part.rows), queries, packed.data(),
                collectors.data());
    for (size_t i = 0; i < collectors.size(); ++i) use(i, collectors[i]);
  }

  // Every row is offered with bounds that hold, and with a threshold every row that reaches it.
  void check(RowMetric metric, const Shift& shift, const Coded& coded, const std::vector<float>& vectors,
             const NamedKernel& named) {
    const int64_t dims = coded.part.dims;
    const auto row_at = [&](int64_t row) { return coded.rows.data() + row * dims; };
    const auto count = static_cast<size_t>(std::ssize(vectors) / dims);
    const auto query_at = [&](size_t i) {
      return std::span(vectors).subspan(i * static_cast<size_t>(dims), static_cast<size_t>(dims));
    };
    std::vector<QuantizedQuery> queries;
    std::vector<float> thresholds;
    for (size_t i = 0; i < count; ++i) {
      queries.push_back(quantize_shifted_query(metric, shift, query_at(i), named.kernel->max_query_code));
      const auto row = static_cast<int64_t>(random_() % kShiftedRows);
      thresholds.push_back(static_cast<float>(truth(metric, shift, query_at(i).data(), row_at(row))));
    }
    const std::vector<float> none(count, -std::numeric_limits<float>::infinity());
    scan(*named.kernel, coded, queries, none, [&](size_t i, const Collector& collector) {
      ASSERT_EQ(std::ssize(collector.candidates()), coded.part.rows) << named.name;
      for (size_t at = 0; at < collector.candidates().size(); ++at) {
        const Collector::Candidate& row = collector.candidates()[at];
        const long double exact = truth(metric, shift, query_at(i).data(), row_at(row.id));
        ASSERT_GE(static_cast<long double>(row.upper), exact) << named.name << ", row " << row.id;
        const float lower = collector.unshared()[at];
        ASSERT_TRUE(std::isnan(lower) || static_cast<long double>(lower) <= exact)
            << named.name << ", row " << row.id;
      }
    });
    scan(*named.kernel, coded, queries, thresholds, [&](size_t i, const Collector& collector) {
      std::vector<bool> found(static_cast<size_t>(coded.part.rows));
      for (const Collector::Candidate& row : collector.candidates())
        found[static_cast<size_t>(row.id)] = true;
      for (int64_t row = 0; row < coded.part.rows; ++row) {
        if (truth(metric, shift, query_at(i).data(), row_at(row)) >=
            static_cast<long double>(thresholds[i])) {
          ASSERT_TRUE(found[static_cast<size_t>(row)]) << named.name << ", row " << row;
        }
      }
    });
  }

  std::mt19937_64 random_ = make_random(71);
};

TEST_F(Shifted, BoundsHoldForEveryRowAndQuery) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  const char* const runs = std::getenv("GLOVE_TEST_RUNS");
  const int rounds = runs != nullptr ? std::atoi(runs) : 60 / kShare;
  constexpr int64_t kDims[] = {1, 2, 4, 7, 16, 31, 64, 100, 257};
  for (int round = 0; round < rounds; ++round) {
    const int64_t dims = kDims[random_() % std::size(kDims)];
    const auto kind = static_cast<Kind>(round % kKinds);
    const std::vector<float> rows = some_rows(kind, kShiftedRows, dims, random_);
    Shift shift = round % 5 == 0 ? no_shift(dims) : shift_of(rows, dims);
    if (round % 5 == 1) shift = shift_of(some_rows(kFar, 3, dims, random_), dims);
    const Coded coded(shift, rows, dims);
    std::vector<float> queries = some_rows(kind, 5, dims, random_);
    queries.insert(queries.end(), rows.begin(), rows.begin() + dims);
    queries.insert(queries.end(), shift.mean.begin(), shift.mean.end());
    queries.insert(queries.end(), static_cast<size_t>(dims), 0.0f);
    for (const RowMetric metric : {RowMetric::kDot, RowMetric::kL2})
      for (const NamedKernel& named : shifted_kernels()) {
        SCOPED_TRACE("kind " + std::to_string(kind) + ", " + std::to_string(dims) + " dimensions, " +
                     std::string(metric_name(metric)));
        check(metric, shift, coded, queries, named);
        check(metric, shift, coded, {queries.begin(), queries.begin() + dims}, named);
        if (HasFatalFailure()) return;
      }
  }
}

TEST_F(Shifted, FewRowsAreLeft) {
  const ScopedFloatEnvironment environment;
  const int64_t dims = 64, count = 4000;
  for (const Kind kind : {kNear, kFar, kFactors})
    for (const RowMetric metric : {RowMetric::kDot, RowMetric::kL2}) {
      const std::vector<float> rows = some_rows(kind, count, dims, random_);
      const Shift shift = shift_of(rows, dims);
      const Coded coded(shift, rows, dims);
      const std::vector<float> vector = some_rows(kind, 1, dims, random_);
      const QuantizedQuery query = quantize_shifted_query(metric, shift, vector, 32767);
      SharedBounds shared(10);
      Collector collector({}, nullptr, shared);
      std::vector<int8_t> packed;
      const ScanKernel& kernel = *cpu::kPlainKernels.single_query;
      kernel.pack({&query, 1}, component_groups(dims), packed);
      kernel.scan(coded.part, coded.part.level(8), 0, tile_count(count), {&query, 1}, packed.data(),
                  &collector);
      const Collector* const only = &collector;
      EXPECT_LE(rows_left(shared, {&only, 1}).size(), 30u) << kind << ", " << metric_name(metric);
    }
}

TEST_F(Shifted, IntegersAreTheirOwnCodes) {
  const ScopedFloatEnvironment environment;
  std::vector<float> rows = some_rows(kIntegers, kShiftedRows, 100, random_);
  for (size_t i = 100; i < rows.size(); ++i) rows[i] = std::floor(rows[i] / 2);  // all but the first row
  const Coded coded(shift_of(rows, 100), rows, 100);
  EXPECT_NE(coded.scales.front(), 1);  // differences above 127
  for (size_t row = 1; row < coded.scales.size(); ++row) {
    EXPECT_EQ(coded.scales[row], 1);
    EXPECT_EQ(coded.along[row], 0);
    EXPECT_LT(coded.residuals[row], 1e-6f * coded.lengths[row]);
  }
}

TEST(RowMetrics, DistancesHaveTheBitsOfEightSums) {
  std::mt19937_64 random = make_random(72);
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {1, 7, 8, 9, 100, 1000}) {
    const std::vector<float> rows = some_rows(kFar, 2, dims, random);
    double sums[8] = {};
    for (int64_t j = 0; j < dims; ++j) {
      const volatile double difference =
          double{rows[static_cast<size_t>(j)]} - double{rows[static_cast<size_t>(dims + j)]};
      const volatile double square = difference * difference;
      sums[j % 8] += square;
    }
    const double expected =
        std::sqrt(((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])));
    EXPECT_EQ(exact_distance(rows.data(), rows.data() + dims, dims), expected);
    EXPECT_EQ(exact_distance(rows.data(), rows.data(), dims), 0);
  }
  for (const RowMetric metric : {RowMetric::kCosine, RowMetric::kDot, RowMetric::kL2})
    EXPECT_EQ(metric_named(metric_name(metric)), metric);
  EXPECT_EQ(metric_named("L2"), std::nullopt);
}

}  // namespace
}  // namespace glove::test
