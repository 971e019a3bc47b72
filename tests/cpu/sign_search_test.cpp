// Searches with a certainty below 1 by sign planes: their answers are the exact ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/float_environment.h"
#include "tests/cpu/test_support.h"
#include "tests/search/random_mask.h"

namespace glove::cpu {
namespace {

using test::Matrix;

constexpr int64_t kDims = 256;
constexpr int64_t kK = 7;

// Rows around 400 centres, and a zero row.
Matrix topics(int64_t rows, std::mt19937_64& random) {
  Matrix matrix = test::gaussian(rows, kDims, random);
  for (int64_t row = 400; row < rows; ++row)
    for (int64_t j = 0; j < kDims; ++j)
      matrix.row(row)[j] = 0.7f * matrix.row(row)[j] + matrix.row(row % 400)[j];
  std::fill_n(matrix.row(rows / 2), kDims, 0.0f);
  return matrix;
}

SearchRequest request_of(const Query& query, double certainty) {
  SearchRequest request;
  request.query = &query;
  request.k = kK;
  request.certainty = certainty;
  return request;
}

std::vector<test::Row> rows_of(const SearchRequest& request) {
  std::vector<test::Row> rows;
  for (const Neighbor& row : request.rows) rows.push_back({row.id, row.similarity});
  return rows;
}

// Also says whether rows were ruled out by signs.
TEST(SignSearch, FindsTheSameRows) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(92);
  const Matrix matrix = topics(4000, random);
  const ModelPtr model = test::with_planes(test::make_model(matrix), 300, random, true);
  std::vector<std::pair<Query, std::vector<test::Row>>> queries;
  for (int i = 0; i < 30 / test::kShare; ++i) {
    const int64_t row = 10 + static_cast<int64_t>(random() % 1900);
    const Query& query = queries.emplace_back(test::row_query(matrix, row), std::vector<test::Row>()).first;
    queries.back().second = test::reference_rows(matrix, query, kK);
  }
  for (const test::Variant& variant : test::all_variants({1, 3})) {
    const bool reads_signs = variant.name.find("4 bits") != std::string::npos;
    const auto searcher = variant.backend->open(model, {});
    ASSERT_TRUE(searcher.ok());
    const ScopedFloatEnvironment environment;
    for (const double certainty : {1.0, 0.999, 1 - 1e-9}) {
      int64_t uncertain = 0;
      for (const auto& [query, expected] : queries) {
        SearchRequest request = request_of(query, certainty);
        ASSERT_TRUE(searcher.value()->search({&request, 1}).ok());
        ASSERT_EQ(rows_of(request), expected) << variant.name;
        uncertain += request.uncertain;
      }
      EXPECT_EQ(uncertain, reads_signs && certainty < 1 ? std::ssize(queries) : 0) << variant.name;
    }
  }
}

// With masks of every kind, of which some admit the rows of a few lists only, and whichever way to search
// among them is chosen.
TEST(SignSearch, FindsTheSameRowsAmongSome) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(95);
  const Matrix matrix = topics(2500, random);
  const ModelPtr model = test::with_planes(test::make_model(matrix), 200, random, true);
  const PlaneLevel& level = *model->parts().front().planes;
  std::vector<std::shared_ptr<Searcher>> searchers;
  for (const test::Variant& variant : test::all_variants({1, 3}))
    searchers.push_back(variant.backend->open(model, {}).value());
  // As a search that has not been told which codes to read first.
  searchers.push_back(
      make_cpu_backend({.target = {}, .threads = 1, .scan_bits = 0})->open(model, {}).value());
  const ScopedFloatEnvironment environment;
  int64_t uncertain = 0, long_answers = 0;
  for (size_t i = 0; i < 120; ++i) {
    Query query = test::row_query(matrix, static_cast<int64_t>(random() % 2500));
    if (query.norm_squared == 0) continue;
    query.among = testing::random_mask(random, *model);
    if (random() % 3 == 0) {
      const auto first = static_cast<size_t>(level.offsets[random() % 190]);
      const auto rows = level.rows.subspan(first, 1 + random() % (level.rows.size() - first));
      std::vector<int64_t> ids(rows.begin(), rows.end());
      std::ranges::sort(ids);
      query.among = testing::mask_of(*model, ids);
    }
    std::vector<test::Row> expected = test::reference_rows(matrix, query, matrix.rows);
    std::erase_if(expected, [&](const test::Row& row) { return !query.among->admits(row.id); });
    expected.resize(std::min<size_t>(expected.size(), kK));
    for (size_t j = i % test::kShare; j < searchers.size(); j += test::kShare) {
      SearchRequest request = request_of(query, random() % 2 == 0 ? 0.999 : 1 - 1e-9);
      ASSERT_TRUE(searchers[j]->search({&request, 1}).ok());
      ASSERT_EQ(rows_of(request), expected) << query.among->count() << " admissible rows";
      uncertain += request.uncertain;
      long_answers += std::ssize(expected) == kK;
    }
  }
  // Half of the variants read signs; few admissible rows are scored instead, and sets that are searched again
  // are copied. Of the answers of a part of the variants the share is smaller, and varies more.
  EXPECT_GT(uncertain, long_answers / (test::kShare == 1 ? 20 : 80));
}

// The model with other planes.
ModelPtr with_level(const ModelPtr& model, const PlaneLevel& level) {
  ModelPart part = model->parts().front();
  part.planes = &level;
  return std::make_shared<const Model>(std::vector{part}, model->vocabulary(), model->source(), model);
}

SearchRequest searched(const ModelPtr& model, const Query& query) {
  const auto backend = make_cpu_backend({.target = {}, .threads = 1, .scan_bits = 4});
  const auto searcher = backend->open(model, {});
  const ScopedFloatEnvironment environment;
  SearchRequest request = request_of(query, 0.999);
  EXPECT_TRUE(searcher.value()->search({&request, 1}).ok());
  return request;
}

// Whoever overwrites a file while it is loaded gets exact answers.
TEST(SignSearch, DoesNotUseADamagedRotation) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(93);
  const Matrix matrix = topics(500, random);
  const ModelPtr model = test::with_planes(test::make_model(matrix), 10, random, true);
  const Query query = test::row_query(matrix, 20);
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), 1e38f, 0.0f}) {
    const std::vector<float> damaged(kDims * kDims, value);
    PlaneLevel level = *model->parts().front().planes;
    level.rotation = damaged;
    const SearchRequest request = searched(with_level(model, level), query);
    EXPECT_EQ(rows_of(request), test::reference_rows(matrix, query, kK));
    EXPECT_FALSE(request.uncertain);
  }
}

// A file that nobody has verified may have lists without rows, or rows that its bounds call zero.
TEST(SignSearch, IsExactIfDamageHidesRows) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(96);
  const Matrix matrix = topics(4000, random);
  const ModelPtr model = test::with_planes(test::make_model(matrix), 300, random, true);
  Query query = test::row_query(matrix, 20);
  const auto expected = test::reference_rows(matrix, query, kK);
  const PlaneLevel& whole = *model->parts().front().planes;
  ASSERT_TRUE(searched(model, query).uncertain);
  for (const int32_t lost : {-1, 5000}) {
    std::vector<int32_t> rows(whole.rows.begin(), whole.rows.end());
    std::fill(rows.begin() + 3, rows.end(), lost);
    PlaneLevel level = whole;
    level.rows = rows;
    const SearchRequest request = searched(with_level(model, level), query);
    EXPECT_EQ(rows_of(request), expected) << lost;
    EXPECT_FALSE(request.uncertain);
  }
  const std::vector<uint16_t> zeros(whole.sign_bounds.size());
  PlaneLevel level = whole;
  level.sign_bounds = zeros;
  EXPECT_EQ(rows_of(searched(with_level(model, level), query)), expected);
  // An answer that is as short as the exact one needs no other search.
  query.among = testing::mask_of(*model, {1, 2, 2000});
  const SearchRequest request = searched(model, query);
  EXPECT_EQ(request.rows.size(), 2);
}

}  // namespace
}  // namespace glove::cpu
