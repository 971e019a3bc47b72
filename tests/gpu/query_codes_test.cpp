#include "gpu/layout/query_codes.h"

#include <gtest/gtest.h>

#include <random>

#include "base/float_environment.h"
#include "gpu/layout/packed_rows.h"
#include "model/exact_dot.h"
#include "model/quantize.h"
#include "search/query.h"
#include "tests/loader/random.h"
#include "tests/search/random_model.h"

namespace glove::gpu {
namespace {

using testing::kAllRows;
using testing::random_vector;
using testing::Rows;

class QueryCodesTest : public ::testing::Test {
 protected:
  Query random_query(int64_t dims, Rows kind) {
    Query query;
    do {
      query.vector = random_vector(random_, dims, kind);
      query.norm_squared = exact_dot(query.vector.data(), query.vector.data(), dims);
    } while (!(query.norm_squared > 0));
    return query;
  }

  ScopedFloatEnvironment float_environment_;
  ::testing::ScopedTrace trace_{__FILE__, __LINE__,
                                "GLOVE_TEST_SEED=" + std::to_string(glove::testing::test_seed())};
  std::mt19937_64 random_ = glove::testing::random_source();
};

TEST_F(QueryCodesTest, PlanesAddUpToTheCode) {
  std::vector<int16_t> codes;
  for (int32_t code = -kTwoPlaneCode; code <= kTwoPlaneCode; ++code)
    codes.push_back(static_cast<int16_t>(code));
  while (codes.size() % 4 != 0) codes.push_back(0);
  std::vector<int8_t> planes(codes.size() * 2);
  pack_planes(codes, planes.data());
  for (size_t j = 0; j < codes.size(); ++j)
    ASSERT_EQ(planes[j / 4 * 8 + j % 4] * 128 + planes[j / 4 * 8 + 4 + j % 4], codes[j]);
}

TEST_F(QueryCodesTest, BatchCodesKeepSumsExactInAFloat) {
  for (const Rows kind : kAllRows)
    for (const int64_t dims : {1, 4, 50, 300, 1024, 4096}) {
      const QuantizedQuery quantized = quantize_for_batch({}, random_query(dims, kind)).codes;
      int64_t largest_sum = 0;
      for (const int16_t code : quantized.codes) {
        ASSERT_LE(std::abs(code), kOnePlaneCode);
        largest_sum += 128 * std::abs(code);
      }
      ASSERT_LT(largest_sum, kBatchSumLimit) << dims;
    }
}

// Computes what the lanes of a warp read and multiply, step by step, in the documented layout of
// mma.m16n8k32.
TEST_F(QueryCodesTest, FragmentsAreWhatTheLanesMultiply) {
  for (const int64_t dims : {1, 5, 32, 33, 100, 300}) {
    constexpr int64_t kQueries = 37;
    std::vector<int8_t> fragments(static_cast<size_t>(fragment_bytes(kQueries, dims)));
    std::vector<std::vector<int16_t>> codes(kQueries);
    for (int64_t q = 0; q < kQueries; ++q) {
      codes[static_cast<size_t>(q)].resize(static_cast<size_t>(component_groups(dims) * 4));
      for (int64_t j = 0; j < dims; ++j)
        codes[static_cast<size_t>(q)][static_cast<size_t>(j)] = static_cast<int16_t>(random_() % 255) - 127;
      pack_fragments(codes[static_cast<size_t>(q)], q, dims, fragments.data());
    }
    for (int64_t q = 0; q < kQueries; ++q)
      for (int64_t step = 0; step < matrix_steps(dims); ++step)
        for (int64_t t = 0; t < 4; ++t)
          for (int64_t word = 0; word < 2; ++word)
            for (int64_t byte = 0; byte < 4; ++byte) {
              const int64_t lane = q % 8 * 4 + t;
              const int64_t at =
                  ((q / 16 * matrix_steps(dims) + step) * 32 + lane) * 16 + q % 16 / 8 * 8 + word * 4 + byte;
              const int64_t j = step * 32 + word * 16 + t * 4 + byte;
              const auto& own = codes[static_cast<size_t>(q)];
              const int16_t wanted =
                  j < static_cast<int64_t>(own.size()) ? own[static_cast<size_t>(j)] : int16_t{0};
              ASSERT_EQ(fragments[static_cast<size_t>(at)], wanted) << q << " " << j;
            }
  }
}

// Core matrices of eight queries and 16 components follow one another, and hold each query's codes once: of
// each pair of multiplications, lane t has components 16t to 16t + 15, four for each core matrix.
TEST_F(QueryCodesTest, ColumnsAreCoreMatrices) {
  for (const int64_t dims : {1, 5, 24, 25, 100, 300}) {
    constexpr int64_t kQueries = 40;
    ASSERT_GE(column_pairs(dims) * kPairBytes, packed_row_bytes(dims));
    std::vector<int8_t> columns(static_cast<size_t>(column_bytes(kQueries, dims)));
    std::vector<int8_t> wanted(columns.size());
    for (int64_t q = 0; q < kQueries; ++q) {
      std::vector<int16_t> codes(static_cast<size_t>(component_groups(dims) * 4));
      for (int64_t j = 0; j < dims; ++j) {
        codes[static_cast<size_t>(j)] = static_cast<int16_t>(random_() % 255) - 127;
        const int64_t core = q / 8 * column_pairs(dims) * 4 + j / 64 * 4 + j % 16 / 4;
        wanted[static_cast<size_t>((core * 8 + q % 8) * 16 + j % 64 / 16 * 4 + j % 4)] =
            static_cast<int8_t>(codes[static_cast<size_t>(j)]);
      }
      pack_columns(codes, q, dims, columns.data());
    }
    ASSERT_EQ(columns, wanted) << dims;
  }
}

// The one-plane bounds bracket the similarity of every row.
TEST_F(QueryCodesTest, BatchBoundsHold) {
  for (const Rows kind : kAllRows)
    for (const int64_t dims : {3, 25, 300}) {
      const ModelPtr model = testing::random_model(random_, 60, dims, kind);
      const Query query = random_query(dims, kind);
      const QuantizedQuery quantized = quantize_for_batch({}, query).codes;
      const QueryBound& bound = quantized.bound;
      for (int64_t row = 0; row < model->words(); ++row) {
        if (!(model->norm_squared(row) > 0)) continue;
        int32_t sum = 0;
        for (int64_t j = 0; j < dims; ++j)
          sum += model->parts().front().level(8).codes[static_cast<size_t>(code_index(row, j, dims))] *
                 quantized.codes[static_cast<size_t>(j)];
        const auto at = static_cast<size_t>(row);
        const float estimate =
            bound.estimate(static_cast<float>(sum), model->parts().front().level(8).scales[at]);
        const float error = bound.error(model->parts().front().level(8).residuals[at]);
        const double similarity = cosine_from_dots(exact_dot(query.vector.data(), model->vector(row), dims),
                                                   query.norm_squared, model->norm_squared(row));
        ASSERT_LE(estimate - error, similarity);
        ASSERT_GE(estimate + error, similarity);
      }
    }
}

}  // namespace
}  // namespace glove::gpu
