// Approximate searches: the order of lists, the calibration, and the answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "base/float_environment.h"
#include "cpu/kernels/kernels.h"
#include "cpu/search/probe_search.h"
#include "lists/list_codes.h"
#include "lists/plane_arrays.h"
#include "lists/probe_order.h"
#include "lists/recall_table.h"
#include "search/nearest.h"
#include "search/recall_calibration.h"
#include "tests/cpu/test_support.h"
#include "tests/search/random_mask.h"

namespace glove::cpu {
namespace {

using test::Matrix;
using test::Row;

constexpr int64_t kRows = 6000;
constexpr int64_t kWidth = 24;

std::vector<int32_t> plain_products(const ListCodes& lists, std::span<const int16_t> query) {
  std::vector<int32_t> products;
  for (int64_t i = 0; i < lists.lists(); ++i) {
    int64_t sum = 0;
    for (int64_t j = 0; j < list_code_stride(lists.dims); ++j)
      sum += int64_t{query[static_cast<size_t>(j)]} *
             lists.codes[static_cast<size_t>(i * list_code_stride(lists.dims) + j)];
    EXPECT_EQ(sum, static_cast<int32_t>(sum));
    products.push_back(static_cast<int32_t>(sum));
  }
  return products;
}

// The products are about those of the directions, and the same on every target, for any lengths.
TEST(ListCodes, ProductsAreThoseOfTheDirections) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(80);
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {1, 2, 15, 16, 17, 100, 257, 4096}) {
    Matrix centroids = test::gaussian(36 + static_cast<int64_t>(random() % 4), dims, random);
    for (int64_t j = 0; j < dims; ++j) centroids.row(1)[j] *= 1e-18f;
    for (int64_t j = 0; j < dims; ++j) centroids.row(2)[j] *= 1e18f;
    std::fill_n(centroids.row(3), dims, 0.0f);
    std::fill_n(centroids.row(4), dims, 1.0f);
    std::fill_n(centroids.row(5), dims, 0.0f);
    centroids.row(5)[dims / 2] = -3;
    const ListCodes lists = encode_centroids(centroids.values, dims);
    ASSERT_EQ(lists.lists(), centroids.rows);
    for (int64_t i = 0; i < centroids.rows; ++i) {
      const Query query = test::make_query(centroids.row(i), dims);
      if (!(query.norm_squared > 0)) continue;
      const std::vector<int16_t> codes = encode_query(lists, query.vector, query.norm_squared);
      const std::vector<int32_t> expected = plain_products(lists, codes);
      for (const Kernels* kernels : usable_kernels()) {
        std::vector<int32_t> products(expected.size());
        kernels->list_products(codes.data(), lists.codes.data(), lists.lists(), dims, products.data());
        ASSERT_EQ(products, expected) << kernels->name << ", " << dims;
      }
      for (int64_t other = 0; other < centroids.rows; ++other) {
        const Query direction = test::make_query(centroids.row(other), dims);
        const double dot = test::reference_dot(query.vector.data(), direction.vector.data(), dims);
        const double cosine = direction.norm_squared > 0
                                  ? dot / std::sqrt(query.norm_squared) / std::sqrt(direction.norm_squared)
                                  : 0;
        ASSERT_NEAR(expected[static_cast<size_t>(other)] / lists.scale, cosine, 0.02) << dims;
        const auto at = static_cast<size_t>(other);
        const double length = std::sqrt(direction.norm_squared);
        ASSERT_NEAR(expected[at] * static_cast<double>(lists.factors[at]), cosine * length, 0.02 * length);
      }
    }
  }
}

TEST(ProbeOrder, IsByFallingProductAndThenByNumber) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(81);
  for (const int64_t lists : {1, 2, 100, 3000})
    for (const int64_t range : {int64_t{1}, int64_t{7}, int64_t{100000}, int64_t{1} << 31}) {
      std::vector<int32_t> products;
      std::vector<int64_t> offsets = {0};
      for (int64_t i = 0; i < lists; ++i) {
        products.push_back(
            static_cast<int32_t>(static_cast<int64_t>(random() % static_cast<uint64_t>(2 * range)) - range));
        offsets.push_back(offsets.back() + static_cast<int64_t>(random() % 5));
      }
      std::vector<std::pair<int64_t, int64_t>> expected;
      for (int64_t i = 0; i < lists; ++i)
        expected.emplace_back(-int64_t{products[static_cast<size_t>(i)]}, i);
      std::ranges::sort(expected);
      ProbeOrder order(products, offsets);
      int64_t rows = 0;
      for (const auto& [product, list] : expected) {
        rows += offsets[static_cast<size_t>(list) + 1] - offsets[static_cast<size_t>(list)];
        ASSERT_EQ(order.next(), list);
        if (offsets[static_cast<size_t>(list) + 1] > offsets[static_cast<size_t>(list)]) {
          ASSERT_NEAR(static_cast<double>(order.product_at(rows)), static_cast<double>(-product),
                      static_cast<double>(range) / 64 + 1);
        }
      }
      EXPECT_EQ(order.next(), -1);
      EXPECT_EQ(order.next(), -1);
    }
}

TEST(GreatestEstimates, AreThoseOfAFullSort) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(84);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const size_t rows : {0, 1, 2, 50, 1024})
    for (const float range : {0.0f, 0x1p-9f, 1.0f, 3.0f, 1e30f})
      for (const size_t count : {size_t{0}, size_t{1}, size_t{36}, rows, rows + 1}) {
        std::vector<float> estimates;
        for (size_t i = 0; i < rows; ++i) {  // a few values, so that many are equal
          estimates.push_back((static_cast<float>(random() % 64) / 32 - 1) * range);
          if (random() % 64 == 0) estimates.back() = random() % 2 == 0 ? kInfinity : -kInfinity;
        }
        std::vector<std::pair<float, size_t>> expected;
        for (size_t i = 0; i < rows; ++i) expected.emplace_back(-estimates[i], i);
        std::ranges::sort(expected);
        expected.resize(std::min(rows, count));
        std::vector<std::pair<float, size_t>> found;
        for (const size_t i : greatest_estimates(estimates, count)) found.emplace_back(-estimates[i], i);
        std::ranges::sort(found);
        EXPECT_EQ(found, expected) << rows << " rows, " << count << " of them, range " << range;
      }
}

TEST(ProductOfCodes, IsThatOfAPlainLoop) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(83);
  for (int64_t lanes = kListCodeLanes; lanes <= 20 * kListCodeLanes; lanes += kListCodeLanes)
    for (const int largest : {1, 127}) {
      std::vector<int8_t> codes(static_cast<size_t>(lanes));
      std::vector<int16_t> query(codes.size());
      int32_t expected = 0;
      for (size_t i = 0; i < codes.size(); ++i) {
        codes[i] = static_cast<int8_t>(static_cast<int>(random() % 3 - 1) * largest);
        query[i] = static_cast<int16_t>(random() % 65535 - 32767);
        expected += codes[i] * query[i];
      }
      EXPECT_EQ(product_of_codes(codes.data(), query.data(), lanes), expected) << lanes;
    }
}

// The model with its rows in the lists of the nearest of some rows.
ModelPtr in_lists(const ModelPtr& model, int64_t lists) {
  const ModelPart& part = model->parts().front();
  std::vector<float> centroids;
  for (int64_t i = 0; i < lists; ++i) {
    const float* const row = part.vector(i * part.rows / lists);
    centroids.insert(centroids.end(), row, row + part.dims);
  }
  std::vector<int32_t> list_of;
  for (int64_t row = 0; row < part.rows; ++row) {
    std::pair<double, int32_t> best = {-2, 0};
    for (int64_t list = 0; list < lists; ++list) {
      const float* const centroid = centroids.data() + list * part.dims;
      const double norm = std::sqrt(test::reference_dot(centroid, centroid, part.dims));
      best = std::max(best, {test::reference_dot(part.vector(row), centroid, part.dims) / norm /
                                 std::sqrt(part.norm_squared(row) + 1e-30),
                             static_cast<int32_t>(list)});
    }
    list_of.push_back(best.second);
  }
  return with_planes(model,
                     make_planes(part.vectors, part.norms_squared, centroids, list_of, part.dims, 1).value());
}

// A model with lists and a calibration, and queries of it.
class ApproximateSearch : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const ScopedFloatEnvironment environment;
    std::mt19937_64 random = test::make_random(82);
    matrix_ = test::clustered(kRows, kWidth, random);
    std::fill_n(matrix_.row(17), kWidth, 0.0f);
    for (int64_t i = 100; i < 160; ++i) std::copy_n(matrix_.row(100), kWidth, matrix_.row(i));
    listed_ = in_lists(test::make_model(matrix_), 150);
    const auto backend = make_cpu_backend({.target = {}, .threads = 2});
    const auto searcher = backend->open(listed_, {}).value();
    Result<RecallArrays> arrays = calibrate_recall(listed_, *searcher, 2, {});
    ASSERT_TRUE(arrays.ok());
    arrays_ = std::move(arrays).value();
    model_ = with_recall(listed_, arrays_);
    for (int64_t i = 0; i < (test::kShare == 1 ? 60 : 16); ++i) {
      const auto row = static_cast<int64_t>(random() % kRows);
      if (row == 17) continue;
      std::vector<float> sum(matrix_.row(row), matrix_.row(row) + kWidth);
      if (i % 2 == 0) {
        queries_.push_back(test::row_query(matrix_, row));
        continue;
      }
      const float* const other = matrix_.row(static_cast<int64_t>(random() % kRows));
      for (int64_t j = 0; j < kWidth; ++j) sum[static_cast<size_t>(j)] += other[j];
      queries_.push_back(test::make_query(sum.data(), kWidth));
    }
  }

  // The answers of one call.
  static std::vector<SearchRequest> ask(Backend& backend, const ModelPtr& model,
                                        std::span<const Query> queries, int64_t k, double recall) {
    const ScopedFloatEnvironment environment;
    std::vector<SearchRequest> requests;
    for (const Query& query : queries) {
      SearchRequest& request = requests.emplace_back();
      request.query = &query;
      request.k = k;
      request.terms.recall = recall;
    }
    EXPECT_TRUE(backend.open(model, {}).value()->search(requests).ok());
    return requests;
  }

  static std::vector<Row> rows_of(const SearchRequest& request) {
    std::vector<Row> rows;
    for (const Neighbor& row : request.rows) rows.push_back({row.id, row.similarity});
    return rows;
  }

  static void TearDownTestSuite() {
    model_ = listed_ = nullptr;
    queries_.clear();
  }

  static inline Matrix matrix_;
  static inline ModelPtr listed_, model_;
  static inline RecallArrays arrays_;
  static inline std::vector<Query> queries_;
};

TEST_F(ApproximateSearch, EveryNumberOfThreadsCalibratesAlike) {
  if (test::kShortShare != 1) GTEST_SKIP() << "a second calibration takes a second, and a sanitizer minutes";
  const ScopedFloatEnvironment environment;
  const auto backend = make_cpu_backend({.target = {}, .threads = 1});
  const auto searcher = backend->open(listed_, {}).value();
  const Result<RecallArrays> other = calibrate_recall(listed_, *searcher, 1, {});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other.value().transform, arrays_.transform);
  EXPECT_EQ(other.value().features, arrays_.features);
  EXPECT_EQ(other.value().found, arrays_.found);
}

TEST_F(ApproximateSearch, ACalibrationIsPossibleAndCanBeStopped) {
  const ScopedFloatEnvironment environment;
  EXPECT_LE(arrays_.queries, kCalibrationQueries);
  EXPECT_GE(arrays_.queries, kCalibrationQueries * 9 / 10);  // a difference may be zero
  EXPECT_TRUE(is_possible(arrays_.table()));
  const auto backend = make_cpu_backend({.target = {}, .threads = 1});
  const auto searcher = backend->open(listed_, {}).value();
  EXPECT_FALSE(calibrate_recall(listed_, *searcher, 1, [] { return true; }).ok());
  // A file with a margin that rules out everything is damaged.
  for (const double margin : {0.0, 1.5, -0.5, std::numeric_limits<double>::quiet_NaN()}) {
    RecallArrays damaged = arrays_;
    damaged.transform[kRecallMargin] = margin;
    EXPECT_FALSE(is_possible(damaged.table())) << margin;
  }
}

TEST_F(ApproximateSearch, KnowingTheLeastSimilarityChangesNoRow) {
  const ScopedFloatEnvironment environment;
  SCOPED_TRACE(test::seed_text());
  for (const test::Variant& variant : test::all_variants({1, 3}))
    for (const int64_t k : {1, 10, 300}) {
      std::vector<SearchRequest> requests = ask(*variant.backend, listed_, queries_, k, 1);
      std::vector<std::vector<Row>> expected;
      int64_t candidates = 0, others = 0;
      std::vector<Query> queries = queries_;
      for (size_t i = 0; i < requests.size(); ++i) {
        SearchRequest& request = requests[i];
        expected.push_back(rows_of(request));
        candidates += request.cost.candidates;
        queries[i].least = request.rows.back().similarity;
        request.query = &queries[i];
        request.cost = {};
        request.rows.clear();
      }
      ASSERT_TRUE(variant.backend->open(listed_, {}).value()->search(requests).ok());
      for (size_t i = 0; i < requests.size(); ++i) {
        ASSERT_EQ(rows_of(requests[i]), expected[i]) << variant.name << ", k = " << k;
        others += requests[i].cost.candidates;
      }
      EXPECT_LE(others, candidates) << variant.name << ", k = " << k;
    }
}

TEST_F(ApproximateSearch, EveryTargetReturnsTheSameRows) {
  SCOPED_TRACE(test::seed_text());
  int64_t approximate = 0;
  for (const int64_t k : {1, 10, 30, 77}) {
    std::vector<std::vector<Row>> expected;
    for (const test::Variant& variant : test::all_variants({1, 3})) {
      const auto together = ask(*variant.backend, model_, queries_, k, 0.9);
      for (size_t i = 0; i < queries_.size(); ++i) {
        const auto alone = ask(*variant.backend, model_, std::span(queries_).subspan(i, 1), k, 0.9);
        if (expected.size() == i) expected.push_back(rows_of(alone.front()));
        ASSERT_EQ(rows_of(alone.front()), expected[i]) << variant.name << ", k = " << k;
        ASSERT_EQ(rows_of(together[i]), expected[i]) << variant.name << ", k = " << k;
        ASSERT_EQ(together[i].cost.approximate, alone.front().cost.approximate);
        ASSERT_EQ(std::ssize(alone.front().rows), k);
        approximate += alone.front().cost.approximate;
        if (alone.front().cost.approximate) {
          ASSERT_LT(alone.front().cost.rows_scanned, kRows * 2 / 3);
        }
      }
    }
  }
  EXPECT_GT(approximate, 0);
}

TEST_F(ApproximateSearch, SimilaritiesAreExactAndExcludedRowsOmitted) {
  SCOPED_TRACE(test::seed_text());
  const auto backend = make_cpu_backend({.target = {}, .threads = 1});
  for (const SearchRequest& request : ask(*backend, model_, queries_, 20, 0.8)) {
    const std::vector<Row> all = test::reference_rows(matrix_, *request.query, kRows);
    std::set<int64_t> seen;
    for (size_t i = 0; i < request.rows.size(); ++i) {
      const Neighbor& row = request.rows[i];
      ASSERT_TRUE(seen.insert(row.id).second);
      const auto same = [&](const Row& other) { return other.id == row.id; };
      const auto found = std::ranges::find_if(all, same);
      ASSERT_NE(found, all.end());  // neither zero nor excluded
      ASSERT_EQ(found->similarity, row.similarity);
      ASSERT_TRUE(i == 0 || ranks_before(request.rows[i - 1], row));
    }
  }
}

// The share of the true rows is as asked for, a larger recall loses none of them, and a smaller k of the same
// class returns the first rows.
TEST_F(ApproximateSearch, KeepsItsRecall) {
  SCOPED_TRACE(test::seed_text());
  const auto backend = make_cpu_backend({.target = {}, .threads = 1});
  constexpr int64_t kK = 30;
  std::vector<std::set<int64_t>> right(queries_.size());
  std::vector<std::set<int64_t>> truth(queries_.size());
  for (size_t i = 0; i < queries_.size(); ++i)
    for (const Row& row : test::reference_rows(matrix_, queries_[i], kK)) truth[i].insert(row.id);
  for (const double recall : {0.5, 0.8, 0.9, 0.99, 1.0}) {
    const auto requests = ask(*backend, model_, queries_, kK, recall);
    const auto fewer = ask(*backend, model_, queries_, 12, recall);
    double found = 0;
    for (size_t i = 0; i < queries_.size(); ++i) {
      std::set<int64_t> now;
      for (const Neighbor& row : requests[i].rows)
        if (truth[i].contains(row.id)) now.insert(row.id);
      ASSERT_TRUE(std::ranges::includes(now, right[i])) << "recall = " << recall;
      found += static_cast<double>(now.size()) / static_cast<double>(kK * std::ssize(queries_));
      right[i] = std::move(now);
      auto first = rows_of(requests[i]);
      first.resize(12);
      ASSERT_EQ(rows_of(fewer[i]), first);
      ASSERT_FALSE(recall == 1.0 && requests[i].cost.approximate);
    }
    EXPECT_GE(found, recall - (test::kShare == 1 ? 0.05 : 0.15));  // over 60 or 16 queries
    EXPECT_TRUE(recall < 1 || std::abs(found - 1) < 1e-9);
  }
}

// The rows that a query is the sum of are its nearest, but their lists are far from it. One leads to the
// other, however few lists are read.
TEST_F(ApproximateSearch, FindsBothRowsOfASum) {
  SCOPED_TRACE(test::seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = test::make_random(85);
  const Matrix matrix = test::gaussian(20000, kWidth, random);
  const ModelPtr listed = in_lists(test::make_model(matrix), 200);
  RecallArrays arrays = arrays_;  // by which every search reads as few rows as possible
  arrays.lists = encode_centroids(listed->parts().front().planes->centroids, kWidth);
  std::ranges::fill(arrays.found, 10);
  for (size_t i = 3 * RecallMeasurements::kCount; i < arrays.transform.size(); i += kRecallTransform)
    arrays.transform[i] = 1e18;
  std::vector<Query> sums;
  for (int64_t row = 0; row < 200; row += 2) {
    std::vector<float> sum(kWidth);
    for (const int64_t term : {row, row + 1}) {
      const double norm = std::sqrt(test::reference_dot(matrix.row(term), matrix.row(term), kWidth));
      for (int64_t j = 0; j < kWidth; ++j)
        sum[static_cast<size_t>(j)] += static_cast<float>(matrix.row(term)[j] / norm);
    }
    sums.push_back(test::make_query(sum.data(), kWidth));
  }
  const auto backend = make_cpu_backend({.target = {}, .threads = 2});
  const auto requests = ask(*backend, with_recall(listed, std::move(arrays)), sums, 10, 0.9);
  int64_t one = 0, both = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto row = static_cast<int64_t>(2 * i);
    const auto found = std::ranges::count_if(
        requests[i].rows, [row](const Neighbor& neighbor) { return neighbor.id / 2 == row / 2; });
    ASSERT_TRUE(requests[i].cost.approximate);
    ASSERT_LT(requests[i].cost.rows_scanned, 3000);
    one += found == 1;
    both += found == 2;
  }
  EXPECT_GT(both, one + 15);  // about 70 and 20, and about 40 and 45 by the lists near the sum alone
}

// With any set of admissible rows, an answer has as many of them as there are, with exact similarities; the
// share of the true rows is as asked for, and a larger recall loses none of them.
TEST_F(ApproximateSearch, ChoosesAmongTheAdmissibleRows) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(83);
  const auto backends = test::all_variants({1, 3});
  const auto any = [&]() -> Backend& { return *backends[random() % backends.size()].backend; };
  constexpr int64_t kK = 10;
  std::vector<std::vector<Row>> all;
  all.reserve(queries_.size());
  for (const Query& query : queries_) all.push_back(test::reference_rows(matrix_, query, kRows));
  int64_t approximate = 0;
  for (int trial = 0; trial < 12; ++trial) {
    std::vector<Query> queries = queries_;
    const RowMaskPtr mask = testing::random_mask(random, *model_);
    for (Query& query : queries) query.among = mask;
    std::vector<std::set<int64_t>> right(queries.size());
    for (const double recall : {0.5, 0.9, 0.99}) {
      const auto requests = ask(any(), model_, queries, kK, recall);
      const auto others = ask(any(), model_, queries, kK, recall);
      int64_t found = 0, sought = 0;
      for (size_t i = 0; i < queries.size(); ++i) {
        std::vector<Row> best;
        std::set<int64_t> now;
        const std::vector<Row> rows = rows_of(requests[i]);
        ASSERT_EQ(rows, rows_of(others[i])) << trial << ", recall = " << recall;
        int64_t admitted = 0;
        for (const Row& row : all[i]) {
          if (!mask->admits(row.id)) continue;
          if (std::ssize(best) < kK) best.push_back(row);
          const auto same = std::ranges::find_if(rows, [&](const Row& other) { return other.id == row.id; });
          if (same == rows.end()) continue;
          ++admitted;
          ASSERT_EQ(same->similarity, row.similarity);
          if (std::ranges::find(best, row) != best.end()) now.insert(row.id);
        }
        ASSERT_EQ(admitted, std::ssize(rows));
        ASSERT_EQ(rows.size(), best.size());
        ASSERT_TRUE(requests[i].cost.approximate || rows == best);
        ASSERT_TRUE(std::ranges::includes(now, right[i])) << trial << ", recall = " << recall;
        approximate += requests[i].cost.approximate;
        found += std::ssize(now);
        sought += std::ssize(best);
        right[i] = std::move(now);
      }
      // Over 60 queries.
      EXPECT_GE(static_cast<double>(found), (recall - 0.06) * static_cast<double>(sought)) << trial;
    }
  }
  EXPECT_GT(approximate, 0);
}

TEST_F(ApproximateSearch, AnswersExactlyWhatItDoesNotKnow) {
  SCOPED_TRACE(test::seed_text());
  const auto backend = make_cpu_backend({.target = {}, .threads = 1});
  std::vector<float> strange(kWidth, 0.0f);
  strange[3] = -1;
  strange[4] = 50;
  const std::vector<Query> odd = {test::make_query(strange.data(), kWidth)};
  for (const SearchRequest& request : ask(*backend, model_, odd, 10, 0.5)) {
    if (request.cost.approximate) continue;  // it may be near others by chance
    EXPECT_EQ(rows_of(request), test::reference_rows(matrix_, odd.front(), 10));
  }
  const auto expect_exact = [&](const ModelPtr& model, int64_t k) {
    for (const SearchRequest& request : ask(*backend, model, queries_, k, 0.5)) {
      EXPECT_FALSE(request.cost.approximate);
      EXPECT_EQ(rows_of(request), test::reference_rows(matrix_, *request.query, k));
    }
  };
  expect_exact(listed_, 10);  // no calibration
  expect_exact(model_, 400);  // of so few rows, a pass over all of them is cheaper
  RecallArrays far = arrays_;
  for (double& number : far.transform) number = -1;  // no query is within reach
  expect_exact(with_recall(listed_, far), 10);
}

}  // namespace
}  // namespace glove::cpu
