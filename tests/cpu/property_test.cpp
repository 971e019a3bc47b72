// Compares thousands of small random models of every shape and kind with the reference.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

// Returns a value of one of the kinds that can cause trouble.
float strange_value(uint64_t kind, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  switch (kind) {
    case 0:
      return normal(random);
    case 1:
      return static_cast<float>(static_cast<int>(random() % 5) - 2);
    case 2:
      return random() % 4 ? 0.0f : normal(random);
    case 3:
      return std::ldexp(normal(random), static_cast<int>(random() % 120) - 60);
    case 4:
      return std::bit_cast<float>(static_cast<uint32_t>(random() % 0x1000000));  // mostly denormal
    case 5:
      return 1.0f + static_cast<float>(random() % 4) * 0x1p-23f;
    default:
      return random() % 2 ? 1e30f : 1e-30f;
  }
}

Matrix strange_matrix(std::mt19937_64& random) {
  const auto rows = static_cast<int64_t>(1 + random() % (random() % 4 ? 100 : 700));
  const auto dims = static_cast<int64_t>(1 + random() % (random() % 4 ? 20 : 150));
  Matrix matrix{rows, dims, std::vector<float>(static_cast<size_t>(rows * dims))};
  const bool mixed = random() % 4 == 0;
  const uint64_t kind = random() % 7;
  for (float& value : matrix.values) value = strange_value(mixed ? random() % 7 : kind, random);
  for (int64_t i = 1; i < rows; ++i) {
    const uint64_t fate = random() % 16;
    if (fate == 0) std::fill_n(matrix.row(i), dims, 0.0f);
    if (fate == 1) std::copy_n(matrix.row(static_cast<int64_t>(random()) & (i - 1)), dims, matrix.row(i));
  }
  return matrix;
}

// Returns a mask of random density and its rows, which may be none, all, or those of some stretches.
std::pair<RowMaskPtr, std::vector<bool>> strange_mask(const Model& model, std::mt19937_64& random) {
  std::vector<int64_t> ids(static_cast<size_t>(model.words()));
  std::iota(ids.begin(), ids.end(), int64_t{100});
  std::vector<int64_t> keys;
  std::vector<bool> admits(ids.size());
  const uint64_t density = std::array<uint64_t, 6>{0, 1, 4, 32, 250, 256}[random() % 6];
  const bool in_stretches = random() % 2 == 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    admits[i] = in_stretches && i % 37 != 0 ? admits[i - 1] : random() % 256 < density;
    if (admits[i]) keys.push_back(ids[i]);
  }
  auto mask = std::make_shared<RowMask>(model);
  EXPECT_TRUE(mask->admit(KeySet(std::move(keys)), ids, int64_t{0}, {}).ok());
  mask->complete(model);
  return {std::move(mask), std::move(admits)};
}

// Compares the searches of a backend among some rows with the reference.
void expect_exact_among(const Matrix& matrix, const Variant& variant, const ModelPtr& model,
                        std::vector<Query> queries, int64_t k, std::mt19937_64& random) {
  const auto strange = strange_mask(*model, random);
  const RowMaskPtr& mask = strange.first;
  const std::vector<bool>& admits = strange.second;
  std::vector<std::vector<Row>> expected;
  for (Query& query : queries) {
    query.among = mask;
    expected.push_back(reference_rows(matrix, query, matrix.rows));
    std::erase_if(expected.back(), [&](const Row& row) { return !admits[static_cast<size_t>(row.id)]; });
    if (static_cast<int64_t>(expected.back().size()) > k) expected.back().resize(static_cast<size_t>(k));
  }
  const auto what = [&] {
    return variant.name + ", " + std::to_string(mask->count()) + " rows of " + std::to_string(matrix.rows) +
           ", k = " + std::to_string(k);
  };
  ASSERT_EQ(backend_rows(*variant.backend, model, queries, k), expected) << what();
  ASSERT_EQ(backend_rows(*variant.backend, model, {queries.data(), 1}, k).front(), expected.front())
      << what();
}

TEST(Property, RandomModelsGiveTheReferencesRows) {
  SCOPED_TRACE(seed_text());
  const std::vector<Variant> variants = all_variants({1, 2, 7});
  for (uint64_t round = 0; round < 5000 / static_cast<uint64_t>(kShortShare); ++round) {
    std::mt19937_64 random = make_random(1000 + round);
    const Matrix matrix = strange_matrix(random);
    ModelPtr model = make_model(matrix);
    if (random() % 2) model = with_planes(model, 1 + static_cast<int64_t>(random() % 12), random);
    std::vector<Query> queries;
    for (uint64_t count = 1 + random() % 14; count > 0; --count) {
      Matrix other{1, matrix.dims, std::vector<float>(static_cast<size_t>(matrix.dims))};
      for (float& value : other.values) value = strange_value(random() % 7, random);
      const auto row = static_cast<int64_t>(random() % static_cast<uint64_t>(matrix.rows));
      Query query = random() % 3 ? row_query(matrix, row) : make_query(other.row(0), matrix.dims);
      if (query.norm_squared > 0) queries.push_back(std::move(query));
    }
    if (queries.empty()) continue;
    const auto k = static_cast<int64_t>(1 + random() % (random() % 2 ? 10 : 1000));
    const Variant& variant = variants[round % variants.size()];
    const auto rows = backend_rows(*variant.backend, model, queries, k);
    ASSERT_EQ(rows.size(), queries.size());
    for (size_t q = 0; q < queries.size(); ++q)
      ASSERT_EQ(rows[q], reference_rows(matrix, queries[q], k))
          << variant.name << ", round " << round << ", " << matrix.rows << " x " << matrix.dims
          << ", k = " << k << ", query " << q;
    // One query alone is searched by other kernels, and perhaps by codes of 4 bits first.
    ASSERT_EQ(backend_rows(*variant.backend, model, {queries.data(), 1}, k).front(), rows.front())
        << variant.name << ", round " << round << ", " << matrix.rows << " x " << matrix.dims
        << ", k = " << k;
    ASSERT_NO_FATAL_FAILURE(expect_exact_among(matrix, variant, model, std::move(queries), k, random));
  }
}

}  // namespace
}  // namespace glove::test
