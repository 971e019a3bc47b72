// Data that strain the bounds; the answers must still be exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/float_environment.h"
#include "model/exact_dot.h"
#include "model/nibbles.h"
#include "search/engine.h"
#include "search/nearest.h"
#include "tests/cpu/test_support.h"
#include "tests/float_settings.h"

namespace glove::test {
namespace {

void expect_exact(const Matrix& matrix, const ModelPtr& model, const std::vector<Query>& queries, int64_t k) {
  std::vector<std::vector<Row>> expected;
  for (const Query& query : queries) expected.push_back(reference_rows(matrix, query, k));
  for (const Variant& variant : all_variants({1, 2, 7})) {
    SCOPED_TRACE(variant.name + ", k = " + std::to_string(k));
    ASSERT_EQ(backend_rows(*variant.backend, model, queries, k), expected);
    ASSERT_EQ(backend_rows(*variant.backend, model, {queries.data(), 1}, k)[0], expected[0]);
  }
}

void expect_exact(const Matrix& matrix, int64_t k) {
  std::vector<Query> queries;
  for (int64_t i = 0; i < matrix.rows && queries.size() < 15; i += 1 + matrix.rows / 15)
    if (reference_dot(matrix.row(i), matrix.row(i), matrix.dims) > 0) queries.push_back(row_query(matrix, i));
  const ModelPtr model = make_model(matrix);
  expect_exact(matrix, model, queries, k);
  std::mt19937_64 random = make_random(41);
  expect_exact(matrix, with_planes(model, 1 + static_cast<int64_t>(random() % 9), random), queries, k);
}

class Adversarial : public testing::Test {
 protected:
  testing::ScopedTrace trace_{__FILE__, __LINE__, seed_text()};
  std::mt19937_64 random_ = make_random(40);
};

TEST_F(Adversarial, DimensionsFromOneToFourThousand) {
  for (const int64_t dims : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 127, 300, 511, 1023, 4096})
    expect_exact(gaussian(70, dims, random_), 10);
}

TEST_F(Adversarial, RowsThatAreNearlyEqual) {
  Matrix matrix = gaussian(3000, 30, random_);
  for (int64_t i = 1; i < matrix.rows; ++i)
    for (int64_t j = 0; j < matrix.dims; ++j)
      matrix.row(i)[j] = matrix.row(0)[j] * (1.0f + static_cast<float>(random_() % 16) * 0x1p-23f);
  expect_exact(matrix, 20);
}

TEST_F(Adversarial, DuplicatesLeaveMoreCandidatesThanABufferHolds) {
  Matrix matrix = gaussian(9000, 12, random_);
  for (int64_t i = 0; i < matrix.rows; ++i)
    if (i % 3 != 0) std::copy_n(matrix.row(0), matrix.dims, matrix.row(i));
  for (const int64_t k : {1, 10, 5000}) expect_exact(matrix, make_model(matrix), {row_query(matrix, 0)}, k);
}

TEST_F(Adversarial, RowsInRisingOrderRaiseTheThresholdAtEveryRow) {
  Matrix matrix = gaussian(5000, 16, random_);
  for (int64_t i = 0; i < matrix.rows; ++i)
    matrix.row(i)[0] = static_cast<float>(i) / 300.0f;  // ever nearer to the first axis
  std::vector<float> axis(16, 0.0f);
  axis[0] = 1.0f;
  for (const int64_t k : {1, 10, 300})
    expect_exact(matrix, make_model(matrix), {make_query(axis.data(), 16)}, k);
}

TEST_F(Adversarial, NormsFromDenormalToHuge) {
  Matrix matrix = clustered(500, 20, random_);
  constexpr float kFactors[] = {1e30f, 1e-30f, 1e-38f, 1e-40f, 1.0f, 1e25f, 3e-42f};
  for (int64_t i = 0; i < matrix.rows; ++i)
    for (int64_t j = 0; j < matrix.dims; ++j) matrix.row(i)[j] *= kFactors[i % 7];
  expect_exact(matrix, 10);
}

TEST_F(Adversarial, OneHotRows) {
  Matrix matrix{400, 100, std::vector<float>(40000, 0.0f)};
  for (int64_t i = 0; i < matrix.rows; ++i)
    matrix.row(i)[random_() % 100] = random_() % 2 ? 1.0f : -static_cast<float>(random_() % 9 + 1);
  expect_exact(matrix, 10);
}

TEST_F(Adversarial, OneHugeComponentHidesTheOthers) {
  Matrix matrix = gaussian(400, 40, random_);
  for (int64_t i = 0; i < matrix.rows; ++i) matrix.row(i)[3] = 1e6f;
  expect_exact(matrix, 10);
}

TEST_F(Adversarial, SignedZeros) {
  Matrix matrix = gaussian(200, 10, random_);
  for (float& value : matrix.values)
    if (random_() % 2) value = random_() % 2 ? 0.0f : -0.0f;
  expect_exact(matrix, 20);
}

TEST_F(Adversarial, AllSimilaritiesNegativeAndFewAdmissibleRows) {
  Matrix matrix = gaussian(50, 8, random_);
  for (float& value : matrix.values) value = -std::abs(value) - 0.01f;
  for (int64_t i = 5; i < matrix.rows; ++i) std::fill_n(matrix.row(i), 8, 0.0f);  // zero rows
  const std::vector<float> ones(8, 1.0f);
  for (const int64_t k : {1, 3, 10, 100})
    expect_exact(matrix, make_model(matrix), {make_query(ones.data(), 8), make_query(ones.data(), 8, {1, 3})},
                 k);
}

TEST_F(Adversarial, ZeroRowsAmongNegativeSimilaritiesNeverAppear) {
  Matrix matrix = gaussian(2000, 8, random_);
  for (float& value : matrix.values) value = -std::abs(value);
  for (int64_t i = 0; i < matrix.rows; i += 2) std::fill_n(matrix.row(i), 8, 0.0f);
  const std::vector<float> ones(8, 1.0f);
  expect_exact(matrix, make_model(matrix), {make_query(ones.data(), 8)}, 10);
}

TEST_F(Adversarial, ManyExcludedRows) {
  const Matrix matrix = clustered(1000, 24, random_);
  std::vector<int32_t> excluded;
  for (int32_t id = 0; id < 1000; id += 2) excluded.push_back(id);
  expect_exact(matrix, make_model(matrix), {make_query(matrix.row(4), 24, excluded)}, 10);
}

// A file made elsewhere may use the code -128, or codes that are far from the best, if its residuals cover
// it.
TEST_F(Adversarial, CodesOfMinus128AndCoarseCodes) {
  for (const int64_t dims : {3, 100, 1030}) {
    const Matrix matrix = clustered(300, dims, random_);
    const ModelPtr base = make_model(matrix);
    std::vector<int8_t> codes(base->parts().front().level(8).codes.begin(),
                              base->parts().front().level(8).codes.end());
    std::vector<float> scales(300), residuals(300);
    for (int64_t i = 0; i < 300; ++i) {
      const double norm = std::sqrt(base->norm_squared(i));
      const double shrink = i % 3 == 0 ? 1.0 : 1.0 + static_cast<double>(random_() % 100) / 50;
      const auto scale =
          static_cast<float>(base->parts().front().level(8).scales[static_cast<size_t>(i)] / shrink);
      double squares = 0;
      for (int64_t j = 0; j < dims; ++j) {
        const double unit = matrix.row(i)[j] / norm;
        const auto code = static_cast<int8_t>(std::clamp(std::nearbyint(unit / scale), -128.0, 127.0));
        codes[static_cast<size_t>(code_index(i, j, dims))] = i % 5 == 0 ? int8_t{-128} : code;
        const double rest = unit - double{scale} * codes[static_cast<size_t>(code_index(i, j, dims))];
        squares += rest * rest;
      }
      scales[static_cast<size_t>(i)] = scale;
      residuals[static_cast<size_t>(i)] =
          std::nextafter(static_cast<float>(std::sqrt(squares) * (1 + 0x1p-40) + 0x1p-40), 1e9f);
    }
    std::vector<Query> queries;
    for (int64_t i = 0; i < 14; ++i) queries.push_back(row_query(matrix, i));
    std::vector<float> minus(static_cast<size_t>(dims), -1.0f);
    queries.push_back(make_query(minus.data(), dims));
    expect_exact(matrix, with_codes(base, codes, scales, residuals), queries, 10);
  }
}

// Another writer may choose codes of 4 bits that are far from the best, if its residuals cover them.
TEST_F(Adversarial, AnyCodesOf4BitsWithinTheirResidual) {
  for (const int64_t dims : {3, 100, 1030}) {
    const Matrix matrix = clustered(300, dims, random_);
    const ModelPtr base = make_model(matrix);
    std::vector<int8_t> codes(static_cast<size_t>(nibble_bytes(300, dims)));
    for (int8_t& code : codes) code = static_cast<int8_t>(random_());
    std::vector<float> scales(300), residuals(300);
    for (int64_t i = 0; i < 300; ++i) {
      const double norm = std::sqrt(base->norm_squared(i));
      const float scale = std::ldexp(1.0f, -static_cast<int>(random_() % 20));
      double squares = 0;
      for (int64_t j = 0; j < dims; ++j) {
        const int code = nibble_code(codes[static_cast<size_t>(nibble_index(i, j, dims))], j);
        const double rest = matrix.row(i)[j] / norm - double{scale} * code;
        squares += rest * rest;
      }
      scales[static_cast<size_t>(i)] = scale;
      residuals[static_cast<size_t>(i)] =
          std::nextafter(static_cast<float>(std::sqrt(squares) * (1 + 0x1p-40) + 0x1p-40), 1e9f);
    }
    std::vector<Query> queries;
    for (int64_t i = 0; i < 3; ++i) queries.push_back(row_query(matrix, i));
    expect_exact(matrix, with_coarse_codes(base, codes, scales, residuals), queries, 10);
  }
}

// Errors of the codes that are parallel to the query, where the cap is as tight as it gets: u = s c + b v.
TEST_F(Adversarial, CodesOf4BitsWithErrorsParallelToTheQuery) {
  constexpr int64_t kRows = 4000;
  for (const int64_t dims : {3, 24, 100}) {
    const Matrix direction = gaussian(1, dims, random_);
    const Query query = make_query(direction.row(0), dims);
    const double norm = std::sqrt(query.norm_squared);
    Matrix matrix{kRows, dims, std::vector<float>(static_cast<size_t>(kRows * dims))};
    std::vector<int8_t> codes(static_cast<size_t>(nibble_bytes(kRows, dims)));
    for (int8_t& code : codes) code = static_cast<int8_t>(random_());
    std::vector<float> scales(kRows), residuals(kRows);
    for (int64_t i = 0; i < kRows; ++i) {
      const auto code = [&](int64_t j) {
        return nibble_code(codes[static_cast<size_t>(nibble_index(i, j, dims))], j);
      };
      double squares = 0, along = 0;
      for (int64_t j = 0; j < dims; ++j) {
        squares += code(j) * code(j);
        along += code(j) * (direction.row(0)[j] / norm);
      }
      const float scale =
          static_cast<float>((0.7 + 0.3 * static_cast<double>(i % 7) / 7) / std::sqrt(squares));
      const double p = double{scale} * along;
      const double b = -p + std::sqrt(p * p + 1 - double{scale} * scale * squares);
      double rest = 0;
      for (int64_t j = 0; j < dims; ++j)
        matrix.row(i)[j] = static_cast<float>(double{scale} * code(j) + b * (direction.row(0)[j] / norm));
      const double row_norm = std::sqrt(reference_dot(matrix.row(i), matrix.row(i), dims));
      for (int64_t j = 0; j < dims; ++j) {
        const double error = matrix.row(i)[j] / row_norm - double{scale} * code(j);
        rest += error * error;
      }
      scales[static_cast<size_t>(i)] = scale;
      residuals[static_cast<size_t>(i)] =
          std::nextafter(static_cast<float>(std::sqrt(rest) * (1 + 0x1p-40) + 0x1p-40), 1e9f);
    }
    for (const int64_t k : {1, 10, 300})
      expect_exact(matrix, with_coarse_codes(make_model(matrix), codes, scales, residuals), {query}, k);
  }
}

// A damaged file may return wrong rows, but must not crash, and returns each row once.
void expect_each_row_once(const ModelPtr& model, const Query& query) {
  for (const Variant& variant : all_variants({1, 7})) {
    SCOPED_TRACE(variant.name);
    const std::vector<Row> rows = backend_rows(*variant.backend, model, {&query, 1}, 10).front();
    std::vector<int32_t> ids;
    for (const Row& row : rows) ids.push_back(row.id);
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
  }
}

TEST_F(Adversarial, DamagedCodesOf4Bits) {
  const Matrix matrix = gaussian(500, 20, random_);
  const ModelPtr base = make_model(matrix);
  std::vector<int8_t> codes(static_cast<size_t>(nibble_bytes(500, 20)));
  std::vector<float> scales(500), residuals(500);
  for (int8_t& code : codes) code = static_cast<int8_t>(random_());
  for (float& scale : scales) scale = std::bit_cast<float>(static_cast<uint32_t>(random_()));
  for (float& residual : residuals) residual = std::bit_cast<float>(static_cast<uint32_t>(random_()));
  expect_each_row_once(with_coarse_codes(base, codes, scales, residuals), row_query(matrix, 0));
}

// One-hot rows, and rows that are equal by the thousand, leave most rows to the bounds of 4 bits, so that the
// search goes on with 8 bits; for every k the rows must be those of the reference.
TEST_F(Adversarial, RowsThatCodesOf4BitsCannotTellApart) {
  constexpr int64_t kRows = 24000 / kShare;
  Matrix one_hot{kRows, 40, std::vector<float>(kRows * 40)};
  for (int64_t i = 0; i < kRows; ++i) one_hot.row(i)[random_() % 40] = random_() % 2 ? 1e30f : 1e-41f;
  Matrix equal = gaussian(kRows, 24, random_);
  for (int64_t i = 0; i < kRows; ++i)
    if (i % 3 != 0) std::copy_n(equal.row(i % 2), 24, equal.row(i));
  Matrix near = gaussian(kRows, 24, random_);  // around one direction, closer than 4 bits can tell
  for (float& x : near.values) x = 1.0f + x * 1e-4f;
  for (const Matrix* matrix : {&one_hot, &equal, &near}) {
    const ModelPtr model = make_model(*matrix);
    const std::vector<Query> queries = {row_query(*matrix, 1)};
    for (const int64_t k : {1, 10, 300, 5000}) {
      const std::vector<Row> expected = reference_rows(*matrix, queries[0], k);
      for (const FirstLevel level : {FirstLevel::kCoarsest, FirstLevel::kCodes8})
        for (const int threads : {1, 3}) {
          SCOPED_TRACE(std::to_string(static_cast<int>(level)) + ". level first, k = " + std::to_string(k));
          const auto backend = make_cpu_backend({.target = "", .threads = threads, .first_level = level});
          ASSERT_EQ(backend_rows(*backend, model, queries, k).front(), expected);
        }
    }
  }
}

TEST_F(Adversarial, DamagedCodesScalesAndResiduals) {
  const Matrix matrix = gaussian(500, 20, random_);
  const ModelPtr base = make_model(matrix);
  std::vector<int8_t> codes(base->parts().front().level(8).codes.begin(),
                            base->parts().front().level(8).codes.end());
  std::vector<float> scales(500), residuals(500);
  for (int8_t& code : codes) code = static_cast<int8_t>(random_());
  for (float& scale : scales) scale = std::bit_cast<float>(static_cast<uint32_t>(random_()));
  for (float& residual : residuals) residual = std::bit_cast<float>(static_cast<uint32_t>(random_()));
  expect_each_row_once(with_codes(base, codes, scales, residuals), row_query(matrix, 0));
}

#if defined(GLOVE_HAS_FLOAT_SETTINGS)
// nearest(), not the backend, sets the control word; all threads must end up with it.
TEST_F(Adversarial, AHostWithDenormalsOffGetsTheSameBits) {
  Matrix matrix = gaussian(300, 16, random_);
  for (float& value : matrix.values) value *= 1e-40f;  // denormals
  const ModelPtr model = make_model(matrix);
  const Query query = row_query(matrix, 7);
  const std::vector<Row> expected = reference_rows(matrix, query, 10);
  Engine engine;
  engine.backends().add(make_cpu_backend());
  ModelSearchers searchers(engine, model);
  const uint64_t saved = host::float_settings();
  host::set_float_settings(saved | host::kDenormalsFlushed);
  SearchReport report;
  const auto answers = nearest(searchers, {&query, 1}, 10, {.backend = "cpu", .interrupted = {}}, report);
  const uint64_t after = host::float_settings();
  host::set_float_settings(saved);
  EXPECT_EQ(after, saved | host::kDenormalsFlushed) << "the host's settings are put back";
  ASSERT_TRUE(answers.ok()) << answers.error().message;
  std::vector<Row> rows;
  for (const Neighbor& neighbor : answers.value()[0]) rows.push_back({neighbor.id, neighbor.similarity});
  EXPECT_EQ(rows, expected);
}
#endif

}  // namespace
}  // namespace glove::test
