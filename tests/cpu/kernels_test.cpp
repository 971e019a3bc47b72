// Compares each table of kernels with plain loops.
#include "cpu/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>

#include "base/float_environment.h"
#include "model/exact_dot.h"
#include "model/nibbles.h"
#include "tests/cpu/plain_kernels.h"
#include "tests/cpu/test_support.h"

namespace glove::cpu {
namespace {

using test::Matrix;

TEST(Kernels, ExactDotsAreBitForBitD) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(20);
  const ScopedFloatEnvironment environment;
  for (int64_t dims = 1; dims <= 70; ++dims) {
    Matrix matrix = test::gaussian(11, dims, random);
    for (float& value : matrix.values) {
      const uint64_t kind = random() % 8;
      if (kind == 0) value = std::ldexp(value, static_cast<int>(random() % 200) - 100);
      if (kind == 1) value = random() % 2 ? 0.0f : -0.0f;
      if (kind == 2) value = std::bit_cast<float>(static_cast<uint32_t>(random() % 1000));  // denormal
    }
    std::vector<double> wide(matrix.row(0), matrix.row(0) + dims);
    wide.resize(static_cast<size_t>((dims + 7) / 8 * 8));
    std::vector<const float*> rows;
    for (int64_t i = 0; i < matrix.rows; ++i) rows.push_back(matrix.row(i));
    for (const Kernels* kernels : usable_kernels())
      for (size_t count = 0; count <= rows.size(); ++count) {
        std::vector<double> dots(count), cached(count);
        kernels->exact_dots(wide.data(), rows.data(), static_cast<int64_t>(count), dims, dots.data());
        kernels->cached_dots(wide.data(), rows.data(), static_cast<int64_t>(count), dims, cached.data());
        for (size_t i = 0; i < count; ++i) {
          const auto expected = std::bit_cast<uint64_t>(exact_dot(matrix.row(0), rows[i], dims));
          ASSERT_EQ(std::bit_cast<uint64_t>(dots[i]), expected)
              << kernels->name << ", " << dims << " dimensions, row " << i;
          ASSERT_EQ(std::bit_cast<uint64_t>(cached[i]), expected)
              << kernels->name << ", " << dims << " dimensions, row " << i;
        }
      }
  }
}

std::vector<std::pair<const Kernels*, const ScanKernel*>> scan_kernels() {
  std::vector<std::pair<const Kernels*, const ScanKernel*>> all;
  for (const Kernels* kernels : usable_kernels()) {
    all.emplace_back(kernels, kernels->single_query);
    all.emplace_back(kernels, kernels->batch);
  }
  return all;
}

// Every estimate that a kernel hands to a collector lies within its error of the truth, and a collector that
// never rules anything out gets every row.
TEST(Kernels, BoundsHoldForEveryRow) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(21);
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {1, 2, 5, 31, 100, 257}) {
    const Matrix matrix = test::clustered(77, dims, random);
    const ModelPtr model = test::make_model(matrix);
    const ModelPart& part = model->parts().front();
    const Query query = test::make_query(matrix.row(5), dims);
    for (const auto& [kernels, kernel] : scan_kernels()) {
      const std::vector<QuantizedQuery> queries = {
          quantize_query(query.vector, query.norm_squared, kernel->max_query_code)};
      std::vector<int8_t> packed;
      kernel->pack(queries, component_groups(dims), packed);
      SharedBounds shared(1000);
      Collector collector({}, nullptr, shared);
      kernel->scan(part, part.level(8), 0, tile_count(part.rows), queries, packed.data(), &collector);
      ASSERT_EQ(collector.candidates().size(), 77u) << kernels->name;
      shared.offer(collector.unshared());
      ASSERT_EQ(shared.lower_bounds().size(), 77u) << kernels->name;
      for (const Collector::Candidate& candidate : collector.candidates()) {
        const double similarity =
            cosine_from_dots(test::reference_dot(query.vector.data(), matrix.row(candidate.id), dims),
                             query.norm_squared, model->norm_squared(candidate.id));
        ASSERT_GE(candidate.upper, similarity) << kernels->name << ", row " << candidate.id;
      }
      double best = -1;
      for (const float bound : shared.lower_bounds()) best = std::max(best, double{bound});
      ASSERT_LE(best, 1.0) << kernels->name;
    }
  }
}

// Offers the part's rows to a collector per query, whose thresholds do not change.
std::vector<std::vector<float>> uppers_of(const ScanKernel& kernel, const ModelPart& part,
                                          const std::vector<QuantizedQuery>& queries,
                                          const std::vector<float>& thresholds) {
  std::deque<SharedBounds> shared;
  std::vector<Collector> collectors;
  for (const float threshold : thresholds) {
    shared.emplace_back(1000).threshold().raise(threshold);
    collectors.emplace_back(std::span<const int32_t>(), nullptr, shared.back()).refresh();
  }
  std::vector<int8_t> packed;
  kernel.pack(queries, component_groups(part.dims), packed);
  kernel.scan(part, part.level(8), 0, tile_count(part.rows), queries, packed.data(), collectors.data());
  std::vector<std::vector<float>> uppers;
  for (const Collector& collector : collectors) {
    uppers.emplace_back(static_cast<size_t>(part.rows), std::numeric_limits<float>::quiet_NaN());
    for (const Collector::Candidate& row : collector.candidates())
      uppers.back()[static_cast<size_t>(row.id)] = row.upper;
  }
  return uppers;
}

// A batch of any size keeps the rows that the plain kernel keeps, also where the best row of a tile is only
// just above the threshold, or below.
TEST(Kernels, BatchesKeepTheRowsAboveTheThreshold) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(23);
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {1, 2, 5, 31, 64, 100, 257, 1030}) {
    Matrix matrix = test::clustered(77, dims, random);
    std::fill_n(matrix.row(40), dims, 0.0f);
    std::fill_n(matrix.row(41), dims, 0.0f);
    matrix.row(41)[random() % static_cast<uint64_t>(dims)] = 1e30f;
    const ModelPtr model = test::make_model(matrix);
    const ModelPart& part = model->parts().front();
    for (const auto& [kernels, kernel] : scan_kernels())
      for (const size_t count : {2, 3, 7, 17, 41}) {
        std::vector<QuantizedQuery> queries;
        for (size_t i = 0; i < count; ++i) {
          const int64_t row = i == 0 ? 41 : static_cast<int64_t>(random() % 40);
          const Query query = test::make_query(matrix.row(row), dims);
          queries.push_back(quantize_query(query.vector, query.norm_squared, kernel->max_query_code));
        }
        std::vector<float> thresholds(count, -std::numeric_limits<float>::infinity());
        const auto all = uppers_of(*kPlainKernels.batch, part, queries, thresholds);
        for (size_t i = 0; i < count; ++i) {
          const float best = *std::max_element(all[i].begin(), all[i].begin() + kTileRows);
          if (i % 4 != 0) thresholds[i] = i % 4 == 3 ? std::nextafter(best, 2.0f) : best - 0x1p-20f;
        }
        const auto kept = uppers_of(*kernel, part, queries, thresholds);
        for (size_t i = 0; i < count; ++i)
          for (size_t row = 0; row < 77; ++row) {
            ASSERT_EQ(std::isnan(all[i][row]), row == 40);
            const bool is_kept = !std::isnan(kept[i][row]);
            // Fused and separate operations may differ in the last bit.
            const bool may_be_kept = row != 40 && all[i][row] >= thresholds[i] - 0x1p-21f;
            const bool must_be_kept = row != 40 && all[i][row] >= thresholds[i] + 0x1p-21f;
            ASSERT_TRUE(is_kept ? may_be_kept : !must_be_kept)
                << kernels->name << ", " << dims << " dimensions, query " << i << " of " << count << ", row "
                << row;
            if (is_kept) {
              ASSERT_NEAR(kept[i][row], all[i][row], 1e-6);
            }
          }
      }
  }
}

// A scan of the codes of 4 bits returns a row unless its similarity is below the threshold, with an upper
// bound that holds, on every target.
TEST(Kernels, CoarseScansKeepEveryRowAboveTheThreshold) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(22);
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {1, 2, 7, 8, 9, 31, 100, 257, 1030}) {
    Matrix matrix = test::clustered(77, dims, random);
    std::fill_n(matrix.row(40), dims, 0.0f);
    const ModelPtr model = test::make_model(matrix);
    const ModelPart& part = model->parts().front();
    const Query query = test::make_query(matrix.row(5), dims);
    const SplitQuery quantized = split_query(query.vector, query.norm_squared);
    for (const Kernels* kernels : usable_kernels()) {
      std::vector<int8_t> packed;
      kernels->coarse->pack(quantized, nibble_words(dims), packed);
      for (const float threshold : {-std::numeric_limits<float>::infinity(), -0.5f, 0.3f, 0.9f}) {
        std::vector<Survivor> survivors(96);
        CapTally caps;
        survivors.resize(static_cast<size_t>(
            kernels->coarse->scan(part, part.level(4), 0, tile_count(part.rows), quantized, packed.data(),
                                  threshold, caps, survivors.data())));
        size_t next = 0;
        for (int32_t row = 0; row < part.rows; ++row) {
          const bool kept = next < survivors.size() && survivors[next].row == row;
          const double norm_squared = model->norm_squared(row);
          ASSERT_FALSE(kept && norm_squared == 0) << kernels->name << ", row " << row;
          if (norm_squared == 0) continue;
          const double similarity =
              cosine_from_dots(test::reference_dot(query.vector.data(), matrix.row(row), dims),
                               query.norm_squared, norm_squared);
          ASSERT_TRUE(kept || similarity < threshold) << kernels->name << ", row " << row;
          if (!kept) continue;
          const Survivor& survivor = survivors[next++];
          ASSERT_GE(survivor.upper, similarity) << kernels->name << ", row " << row;
          ASSERT_GE(survivor.upper, threshold);
          const float error = quantized.high.bound.error(part.level(4).residuals[static_cast<size_t>(row)]);
          ASSERT_LE(survivor.upper - 2 * error, similarity + 1e-5) << kernels->name << ", row " << row;
          ASSERT_LE(survivor.upper - error, survivor.estimate + 2 * quantized.high.bound.error_offset)
              << kernels->name << ", row " << row;
        }
        ASSERT_EQ(next, survivors.size()) << kernels->name;
      }
    }
  }
}

// Scans for rows whose bounds reach the threshold.
std::vector<Survivor> survivors_of(const Kernels& kernels, const ModelPart& part, const SplitQuery& query,
                                   float threshold, CapTally caps = {}) {
  std::vector<int8_t> packed;
  kernels.coarse->pack(query, nibble_words(part.dims), packed);
  std::vector<Survivor> survivors(static_cast<size_t>(tile_count(part.rows) * kTileRows));
  survivors.resize(
      static_cast<size_t>(kernels.coarse->scan(part, part.level(4), 0, tile_count(part.rows), query,
                                               packed.data(), threshold, caps, survivors.data())));
  return survivors;
}

// One row among others that point away from the query, so that its cap decides. Every target must compute it,
// up to roundings, and must not count bits of components past the dimensions.
TEST(Kernels, CoarseScansRuleOutByTheCap) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(24);
  const ScopedFloatEnvironment environment;
  constexpr int64_t kRow = 40;
  for (const int64_t dims : {2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 31, 100, 257}) {
    Matrix matrix = test::gaussian(77, dims, random);
    const Matrix direction = test::gaussian(1, dims, random);
    const Query query = test::make_query(direction.row(0), dims);
    const double along = test::reference_dot(matrix.row(kRow), direction.row(0), dims) / query.norm_squared;
    const double norm = std::sqrt(test::reference_dot(matrix.row(kRow), matrix.row(kRow), dims));
    // The row without its part along the query, and with another one; the others have little else.
    for (int64_t i = 0; i < matrix.rows; ++i) {
      const double part = i == kRow ? norm / std::sqrt(query.norm_squared) - along : -30.0;
      for (int64_t j = 0; j < dims; ++j) matrix.row(i)[j] += static_cast<float>(part * direction.row(0)[j]);
    }
    const ModelPtr base = test::make_model(matrix);
    const CodeLevel& level = base->parts().front().level(4);
    std::vector<int8_t> codes(level.codes.begin(), level.codes.end());
    for (int64_t j = dims; j < nibble_words(dims) * kNibbleGroup; ++j)
      codes[static_cast<size_t>(nibble_index(kRow, j, dims))] |= static_cast<int8_t>(15 << nibble_shift(j));
    const ModelPtr model = test::with_coarse_codes(base, codes, {level.scales.begin(), level.scales.end()},
                                                   {level.residuals.begin(), level.residuals.end()});
    const ModelPart& part = model->parts().front();
    const SplitQuery split = split_query(query.vector, query.norm_squared);
    const double similarity =
        cosine_from_dots(test::reference_dot(query.vector.data(), matrix.row(kRow), dims), query.norm_squared,
                         model->norm_squared(kRow));
    const auto expected = survivors_of(kPlainKernels, part, split, static_cast<float>(similarity) - 0.01f);
    ASSERT_EQ(expected.size(), 1u) << dims;
    ASSERT_EQ(expected.front().row, kRow);
    const float upper = expected.front().upper;
    ASSERT_GE(upper, similarity) << dims;
    for (const Kernels* kernels : usable_kernels()) {
      const auto kept = survivors_of(*kernels, part, split, upper - 1e-4f);
      ASSERT_EQ(kept.size(), 1u) << kernels->name << ", " << dims;
      EXPECT_NEAR(kept.front().upper, upper, 1e-5) << kernels->name << ", " << dims;
      EXPECT_NEAR(kept.front().estimate, expected.front().estimate, 1e-6) << kernels->name << ", " << dims;
      EXPECT_TRUE(survivors_of(*kernels, part, split, upper + 1e-4f).empty())
          << kernels->name << ", " << dims;
      // Where caps do not pay, the first bound decides.
      const CapTally useless = {.computed = 10000, .ruled_out = 100};
      const size_t left = dims < 8 ? 0 : survivors_of(*kernels, part, split, upper + 1e-4f, useless).size();
      EXPECT_EQ(left, dims < 8 ? 0u : 1u) << kernels->name << ", " << dims;
    }
    const float plain = split.high.bound.error(part.level(4).residuals[kRow]) + expected.front().estimate;
    if (dims >= 8) {
      EXPECT_LT(upper, plain - 1e-3f) << dims << ": the cap decides nothing";
    }
  }
}

// No row is ruled out by a threshold of its own similarity.
TEST(Kernels, CoarseScansKeepARowAtTheThreshold) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(25);
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {1, 2, 5, 9, 31, 100}) {
    const Matrix matrix = test::clustered(96, dims, random);
    const ModelPtr model = test::make_model(matrix);
    const ModelPart& part = model->parts().front();
    const Query query = test::make_query(matrix.row(5), dims);
    const SplitQuery split = split_query(query.vector, query.norm_squared);
    for (const Kernels* kernels : usable_kernels())
      for (int32_t row = 0; row < matrix.rows; ++row) {
        const double similarity =
            cosine_from_dots(test::reference_dot(query.vector.data(), matrix.row(row), dims),
                             query.norm_squared, model->norm_squared(row));
        float threshold = static_cast<float>(similarity);
        if (threshold > similarity) threshold = std::nextafter(threshold, -2.0f);
        const auto kept = survivors_of(*kernels, part, split, threshold);
        ASSERT_TRUE(
            std::any_of(kept.begin(), kept.end(), [row](const Survivor& one) { return one.row == row; }))
            << kernels->name << ", " << dims << " dimensions, row " << row;
      }
  }
}

TEST(QuantizedQuery, SumsFitInThirtyTwoBits) {
  for (const int64_t dims : {1, 4, 100, 511, 512, 4096, 65536}) {
    // The worst row: every code at -128 against the worst query, all components equal.
    std::vector<float> equal(static_cast<size_t>(dims), 1.0f);
    for (const int32_t max_code : {127, 32767}) {
      const QuantizedQuery query = quantize_query(equal, static_cast<double>(dims), max_code);
      int64_t sum = 0;
      for (const int16_t code : query.codes) {
        ASSERT_LE(std::abs(code), max_code);
        sum += int64_t{128} * std::abs(code);
      }
      EXPECT_LT(sum, int64_t{1} << 31) << dims << " dimensions";
      EXPECT_GT(query.bound.inverse_scale, 0);
      EXPECT_LT(query.bound.error_offset, 0.5f);
    }
  }
}

}  // namespace
}  // namespace glove::cpu
