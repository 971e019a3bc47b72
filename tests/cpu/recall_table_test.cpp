// How many rows a recall needs, from tables of calibration queries that are made up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

#include "lists/recall_table.h"

namespace glove {
namespace {

TEST(RecallRows, RiseByAboutATenth) {
  for (const int64_t k : kRecallKs) {
    EXPECT_EQ(kRecallKs[static_cast<size_t>(recall_class(k))], k);
    EXPECT_GE(recall_rows(k, 0), k);
    for (int64_t step = 1; step < kRecallSteps; ++step) {
      EXPECT_GT(recall_rows(k, step), recall_rows(k, step - 1));
      EXPECT_LT(static_cast<double>(recall_rows(k, step)),
                1.13 * static_cast<double>(recall_rows(k, step - 1)));
    }
  }
  EXPECT_EQ(recall_class(1), 0);
  EXPECT_EQ(recall_class(2), 1);
  EXPECT_EQ(recall_class(11), 4);
  EXPECT_EQ(recall_class(1001), -1);
}

// A table of queries whose measurements are all the same. fill(query, found) sets how many of the k nearest
// rows a query has found after each step, and returns its group.
RecallArrays table_of(int64_t k, size_t queries,
                      const std::function<RecallGroup(size_t query, std::span<int16_t> found)>& fill) {
  const auto which = static_cast<size_t>(recall_class(k));
  RecallArrays arrays;
  arrays.queries = static_cast<int64_t>(queries);
  arrays.transform.assign(kRecallKs.size() * kRecallTransform, 0);
  arrays.features.assign(kRecallKs.size() * kRecallColumns * queries, 0);
  arrays.found.assign(kRecallKs.size() * queries * kRecallSteps, 0);
  for (size_t i = 0; i < queries; ++i)
    arrays.features[(which * kRecallColumns + kRecallFeatures) * queries + i] =
        fill(i, std::span(arrays.found).subspan((which * queries + i) * kRecallSteps, kRecallSteps));
  return arrays;
}

// `nearest`: the query's distance from its nearest row.
int64_t rows_to_read(const RecallArrays& arrays, int64_t k, double nearest, double recall) {
  RecallMeasurements measured{};
  measured.values[kNearestMeasurement] = nearest;
  return arrays.table().rows_to_read(recall_class(k), measured, recall, int64_t{1} << 30);
}

// Half of the neighbours of a query are sums, which need more rows. They decide for a sum, but not for a row,
// unless hardly any neighbour is one.
TEST(RecallTable, SumsDoNotDecideForARow) {
  const auto rows = [](int64_t k, size_t one_in, double nearest) {
    const RecallArrays arrays = table_of(k, 128, [&](size_t query, std::span<int16_t> found) {
      const bool is_row = query % one_in == 0;
      std::ranges::fill(found.subspan(is_row ? 8 : 40), static_cast<int16_t>(k));
      return is_row ? kOneRow : kSeveralRows;
    });
    return rows_to_read(arrays, k, nearest, 0.99);
  };
  EXPECT_EQ(rows(10, 2, 2e-4), recall_rows(10, 8));
  EXPECT_EQ(rows(10, 2, 0.3), recall_rows(10, 40));
  EXPECT_EQ(rows(10, 8, 2e-4), recall_rows(10, 40));
  // A sample of which no row may be missing is too small to be sure.
  EXPECT_EQ(rows(1, 2, 2e-4), recall_rows(1, 48));
}

// All calibration queries find one row more with each step. A query near a row needs a tenth of the missing
// rows in addition; one that is far from all rows needs more, the farther the more, and never more rows for a
// lower recall.
TEST(RecallTable, StrangersReadMore) {
  constexpr int64_t kK = 30;
  const RecallArrays arrays = table_of(kK, 64, [](size_t, std::span<int16_t> found) {
    for (size_t step = 0; step < found.size(); ++step)
      found[step] = static_cast<int16_t>(std::min<size_t>(step, kK));
    return kOneRow;
  });
  const auto rows = [&](double nearest, double recall) { return rows_to_read(arrays, kK, nearest, recall); };
  EXPECT_EQ(rows(0.1, 0.5), recall_rows(kK, 17));   // 30 (1 - .5 * .9) = 16.5
  EXPECT_EQ(rows(0.51, 0.5), recall_rows(kK, 22));  // 30 (1 - .5 * .587) = 21.2
  EXPECT_EQ(rows(0.65, 0.5), recall_rows(kK, 24));  // 30 (1 - .5 * .4) = 24
  EXPECT_EQ(rows(0.8, 0.5), recall_rows(kK, 27));   // 30 (1 - .5 * .2) = 27
  EXPECT_EQ(rows(1, 0.5), recall_rows(kK, 27));
  for (double nearest = 0; nearest < 1; nearest += 0.05)
    for (double recall = 0.5; recall < 0.95; recall += 0.05) {
      EXPECT_LE(rows(nearest, recall), rows(nearest, recall + 0.05));
      EXPECT_LE(rows(nearest, recall), rows(nearest + 0.05, recall));
    }
}

}  // namespace
}  // namespace glove
