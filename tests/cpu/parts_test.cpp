// Models of several parts give the rows of the same model in one part, bit for bit.
#include <gtest/gtest.h>

#include "base/float_environment.h"
#include "cpu/search/part_chunks.h"
#include "tests/cpu/test_support.h"
#include "tests/model/parts.h"

namespace glove::test {
namespace {

using testing::randomly_split;
using testing::rebuilt_in_parts;

TEST(PartChunks, CoverEveryRowOfEveryPartOnce) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(40);
  for (int round = 0; round < 200; ++round) {
    std::vector<ModelPart> parts(1 + random() % 5);
    int64_t rows = 0;
    for (ModelPart& part : parts) {
      part.first_row = rows;
      part.rows = 1 + static_cast<int64_t>(random() % 300);
      rows += part.rows;
    }
    const auto step = 1 + static_cast<int64_t>(random() % 100);
    const cpu::PartChunks chunks(parts, step);
    int64_t next = 0;
    for (int64_t i = 0; i < chunks.count(); ++i) {
      const auto [part, first, last] = chunks[i];
      ASSERT_EQ(part.first_row + first, next);
      ASSERT_LT(first, last);
      ASSERT_LE(last - first, step);
      ASSERT_LE(last, part.rows);
      next = part.first_row + last;
    }
    ASSERT_EQ(next, rows);
  }
}

void expect_same_answers(Backend& backend, const Matrix& matrix, const ModelPtr& whole, const ModelPtr& parts,
                         std::mt19937_64& random, const std::string& what) {
  std::vector<Query> queries;
  for (uint64_t count = 1 + random() % 8; count > 0; --count)
    queries.push_back(row_query(matrix, static_cast<int64_t>(random() % static_cast<uint64_t>(matrix.rows))));
  for (const int64_t k : {int64_t{1}, int64_t{10}, matrix.rows}) {
    const auto wanted = backend_rows(backend, whole, queries, k);
    const auto got = backend_rows(backend, parts, queries, k);
    ASSERT_EQ(got, wanted) << what << ", k = " << k;
    for (size_t q = 0; q < queries.size(); ++q)
      ASSERT_EQ(got[q], reference_rows(matrix, queries[q], k)) << what << ", k = " << k << ", query " << q;
  }
  std::vector<double> dots(static_cast<size_t>(matrix.rows));
  ScanCost cost;
  const ScopedFloatEnvironment environment;
  const auto searcher = backend.open(parts, {}).value();
  ASSERT_TRUE(searcher->score_all(queries[0], dots, {}, cost).ok());
  EXPECT_EQ(cost.rows_scanned, matrix.rows);
  for (int64_t row = 0; row < matrix.rows; ++row)
    ASSERT_EQ(dots[static_cast<size_t>(row)],
              reference_dot(queries[0].vector.data(), matrix.row(row), matrix.dims));
}

TEST(Parts, GiveTheRowsOfTheWhole) {
  SCOPED_TRACE(seed_text());
  const std::vector<Variant> variants = all_variants({1, 3});
  for (uint64_t round = 0; round < (kShare == 1 ? 60 : 20); ++round) {
    std::mt19937_64 random = make_random(4000 + round);
    const auto rows = static_cast<int64_t>(1 + random() % (round % 3 == 0 ? 3000 : 300));
    const auto dims = static_cast<int64_t>(1 + random() % 60);
    const Matrix matrix = clustered(rows, dims, random);
    const ModelPtr whole = make_model(matrix);
    const Variant& variant = variants[round % variants.size()];
    const ModelPtr split = randomly_split(whole, random);
    expect_same_answers(*variant.backend, matrix, whole, split, random, variant.name + ", split");
    std::vector<int64_t> sizes;
    for (int64_t left = rows; left > 0; left -= sizes.back())
      sizes.push_back(std::min(left, 1 + static_cast<int64_t>(random() % 500)));
    const ModelPtr rebuilt = rebuilt_in_parts(*whole, sizes);
    expect_same_answers(*variant.backend, matrix, whole, rebuilt, random, variant.name + ", rebuilt");
  }
}

}  // namespace
}  // namespace glove::test
