// Searches among the rows of a mask with a copy of their codes, which repeated searches make.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "search/copied_codes.h"
#include "tests/cpu/test_support.h"
#include "tests/share.h"

namespace glove::test {
namespace {

// A mask that admits about `percent` of the rows.
RowMaskPtr random_mask(const Model& model, uint64_t percent, std::mt19937_64& random) {
  std::vector<int64_t> ids(static_cast<size_t>(model.words())), keys;
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int64_t>(3 * i);
    if (random() % 100 < percent) keys.push_back(ids[i]);
  }
  auto mask = std::make_shared<RowMask>(model);
  EXPECT_TRUE(mask->admit(KeySet(std::move(keys)), ids, int64_t{0}, {}).ok());
  mask->complete(model);
  return mask;
}

// The rows of a model as two parts, the first of 64 rows; with or without the vectors.
ModelPtr in_two_parts(const ModelPtr& model, bool vectors) {
  constexpr size_t kFirst = 2 * kTileRows;
  const ModelPart& whole = model->parts().front();
  const CodeLevel& level = whole.level(8);
  const auto dims = static_cast<size_t>(whole.dims);
  const auto bytes = static_cast<size_t>(code_bytes(kFirst, whole.dims));
  ModelPart first = whole, second = whole;
  first.rows = kFirst;
  second.first_row = kFirst;
  second.rows -= kFirst;
  first.vectors = whole.vectors.first(kFirst * dims);
  second.vectors = whole.vectors.subspan(kFirst * dims);
  first.norms_squared = whole.norms_squared.first(kFirst);
  second.norms_squared = whole.norms_squared.subspan(kFirst);
  if (!vectors) first.vectors = second.vectors = {};
  first.levels = {{8, level.codes.first(bytes), level.scales.first(kFirst), level.residuals.first(kFirst)}};
  second.levels = {
      {8, level.codes.subspan(bytes), level.scales.subspan(kFirst), level.residuals.subspan(kFirst)}};
  return std::make_shared<const Model>(std::vector{first, second}, model->vocabulary(), Model::Source{},
                                       model);
}

TEST(CopiedCodes, AreThoseOfTheRows) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(51);
  for (const int64_t dims : {1, 4, 7, 100}) {
    const ModelPtr model = in_two_parts(make_model(gaussian(1000, dims, random)), true);
    for (const uint64_t percent : {1, 20, 100}) {
      const RowMaskPtr mask = random_mask(*model, percent, random);
      if (mask->count() == 0) continue;
      const CopiedCodesPtr codes = CopiedCodes::copy(*model, mask->rows(), 3, {}).value();
      const std::vector<int32_t> rows = mask->rows();
      ASSERT_EQ(std::vector<int32_t>(codes->rows().begin(), codes->rows().end()), rows);
      const CodeLevel& copied = codes->part().level(8);
      ASSERT_EQ(static_cast<int64_t>(copied.codes.size()), code_bytes(mask->count(), dims));
      for (int64_t i = 0; i < tile_count(mask->count()) * kTileRows; ++i) {
        const bool is_row = i < mask->count();
        const ModelPart& part = model->part_of(is_row ? rows[static_cast<size_t>(i)] : 0);
        const int64_t row = is_row ? rows[static_cast<size_t>(i)] - part.first_row : 0;
        for (int64_t j = 0; j < component_groups(dims) * kTileComponents; ++j)
          ASSERT_EQ(copied.codes[static_cast<size_t>(code_index(i, j, dims))],
                    is_row ? part.level(8).codes[static_cast<size_t>(code_index(row, j, dims))] : 0);
        if (!is_row) continue;
        ASSERT_EQ(copied.scales[static_cast<size_t>(i)], part.level(8).scales[static_cast<size_t>(row)]);
        ASSERT_EQ(copied.residuals[static_cast<size_t>(i)],
                  part.level(8).residuals[static_cast<size_t>(row)]);
      }
    }
  }
}

TEST(CopiedCodes, AnInterruptLeavesNone) {
  std::mt19937_64 random = make_random(52);
  const ModelPtr model = make_model(gaussian(5000, 8, random));
  const RowMaskPtr mask = random_mask(*model, 50, random);
  const auto made = CopiedCodes::copy(*model, mask->rows(), 1, [] { return true; });
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(mask->codes(), nullptr);
}

// The answers before and after the copy is made are those of the definition, for one query and for a batch.
TEST(CopiedCodes, AreScannedWithTheSameRows) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(53);
  const Matrix matrix = clustered(3000, 40, random);
  const ModelPtr model = in_two_parts(make_model(matrix), true);
  for (const Variant& variant : all_variants(kShare == 1 ? std::vector<int>{1, 3} : std::vector<int>{3})) {
    for (const uint64_t percent : {1, 10, 60}) {
      const RowMaskPtr mask = random_mask(*model, percent, random);
      std::vector<Query> queries;
      std::vector<std::vector<Row>> expected;
      for (int i = 0; i < 5; ++i) {
        queries.push_back(row_query(matrix, static_cast<int64_t>(random() % 3000)));
        expected.push_back(reference_rows(matrix, queries.back(), matrix.rows));
        std::erase_if(expected.back(), [&](const Row& row) { return !mask->admits(row.id); });
        if (expected.back().size() > 10) expected.back().resize(10);
        queries.back().among = mask;
      }
      for (int round = 0; round < 12; ++round) {
        const auto i = static_cast<size_t>(round % 5);
        ASSERT_EQ(backend_rows(*variant.backend, model, {&queries[i], 1}, 10).front(), expected[i])
            << variant.name << ", round " << round;
      }
      ASSERT_EQ(backend_rows(*variant.backend, model, queries, 10), expected) << variant.name;
      const bool is_forced = variant.name.find("coarsest") != std::string::npos;
      // Of about 30 rows it may pay to score all of them, so that no copy is made.
      if (percent > 1) {
        EXPECT_EQ(mask->codes() != nullptr, !is_forced) << variant.name << ", " << percent << " %";
      }
    }
  }
}

// An index has no vectors: a search returns what may be in the answer.
TEST(CopiedCodes, AreMadeOnceAndOnlyIfTheyPay) {
  std::mt19937_64 random = make_random(54);
  const Matrix matrix = clustered(3000, 40, random);
  const ModelPtr model = in_two_parts(make_model(matrix), false);
  CpuBackendOptions options;
  options.threads = 2;
  const auto backend = make_cpu_backend(options);
  for (const uint64_t percent : {2, 50, 100}) {
    const RowMaskPtr mask = random_mask(*model, percent, random);
    Query query = row_query(matrix, 7);
    query.among = mask;
    CopiedCodesPtr made;
    for (int round = 0; round < 20; ++round) {
      std::vector<SearchRequest> requests;
      ASSERT_TRUE(search(*backend, model, {&query, 1}, 10, {}, requests).ok());
      for (const Neighbor& row : requests.front().rows) ASSERT_TRUE(mask->admits(row.id));
      ASSERT_EQ(requests.front().cost.rows_scanned, mask->count());
      EXPECT_TRUE(round > 0 || (mask->codes() != nullptr) == (percent == 2));
      ASSERT_TRUE(made == nullptr || mask->codes() == made) << round;
      made = mask->codes();
    }
    EXPECT_EQ(made != nullptr, percent < 100);
  }
}

}  // namespace
}  // namespace glove::test
