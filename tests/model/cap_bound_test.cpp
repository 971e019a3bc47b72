// The bounds of a scan by 4 bits, in billions of pairs of a row and a query if asked for: GLOVE_TEST_RUNS
// rounds of 1,024 pairs, 300 by default.
#include "model/cap_bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>

#include "base/float_environment.h"
#include "model/exact_dot.h"
#include "model/nibbles.h"
#include "model/quantized_query.h"
#include "model/quantize.h"
#include "tests/loader/random.h"
#include "tests/search/random_model.h"

namespace glove {
namespace {

using namespace glove::testing;

constexpr int kRowsPerRound = 32;
constexpr int kQueriesPerRound = 32;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

int64_t rounds() {
  const char* const runs = std::getenv("GLOVE_TEST_RUNS");
  return runs != nullptr ? std::atoll(runs) : 300;
}

double uniform(std::mt19937_64& random) {
  return std::ldexp(static_cast<double>(random() >> 11), -53);
}

struct CodedRow {
  std::vector<float> x;
  double norm_squared = 0;
  std::vector<int> codes;
  float scale = 0;
  float residual = 0;
  float codes_squared = 0;
};

struct CodedQuery {
  std::vector<float> vector;
  double norm_squared = 0;
  SplitQuery split;
};

// Completes a row that has x, codes and a scale.
std::optional<CodedRow> finish(CodedRow row) {
  const auto dims = static_cast<int64_t>(row.x.size());
  for (const float x : row.x)
    if (!std::isfinite(x)) return {};
  row.norm_squared = exact_dot(row.x.data(), row.x.data(), dims);
  if (!(row.norm_squared > 0) || !(row.scale > 0)) return {};
  const double norm = std::sqrt(row.norm_squared);
  double squares = 0;
  for (size_t j = 0; j < row.x.size(); ++j) {
    const double rest = row.x[j] / norm - double{row.scale} * row.codes[j];
    squares += rest * rest;
    row.codes_squared += static_cast<float>(row.codes[j] * row.codes[j]);
  }
  row.residual = residual_of_distance(std::sqrt(squares));
  return row;
}

// The writer's codes for x.
CodedRow written_row(std::vector<float> x) {
  const auto dims = static_cast<int64_t>(x.size());
  CodedRow row;
  row.x = std::move(x);
  row.norm_squared = exact_dot(row.x.data(), row.x.data(), dims);
  std::vector<int8_t> words(static_cast<size_t>(nibble_words(dims) * kNibbleWordBytes));
  quantize_row_nibbles(row.x.data(), row.norm_squared, dims, words.data(), kNibbleWordBytes, row.scale,
                       row.residual);
  for (int64_t j = 0; j < dims; ++j)
    row.codes.push_back(nibble_code(
        words[static_cast<size_t>(j / kNibbleGroup * kNibbleWordBytes + j % kNibbleWordBytes)], j));
  return row;
}

CodedRow random_codes(std::mt19937_64& random, int64_t dims) {
  CodedRow row;
  for (int64_t j = 0; j < dims; ++j) row.codes.push_back(2 * static_cast<int>(random() % 16) - 15);
  row.scale = std::ldexp(static_cast<float>(1 + uniform(random)), -static_cast<int>(random() % 12));
  return row;
}

double length(const std::vector<int>& codes) {
  return std::sqrt(static_cast<double>(std::inner_product(codes.begin(), codes.end(), codes.begin(), 0)));
}

// A row whose error vector is parallel to the query, where the cap is as tight as it gets: u = s c + b v, |u|
// = 1.
CodedRow parallel_row(std::mt19937_64& random, const CodedQuery& query) {
  const auto dims = static_cast<int64_t>(query.vector.size());
  CodedRow row = random_codes(random, dims);
  row.scale = static_cast<float>((0.2 + uniform(random)) / length(row.codes));
  const double norm = std::sqrt(query.norm_squared);
  double along = 0, squares = 0;
  for (size_t j = 0; j < row.codes.size(); ++j) {
    const double p = double{row.scale} * row.codes[j];
    along += p * (query.vector[j] / norm);
    squares += p * p;
  }
  const double root = std::sqrt(std::max(0.0, along * along + 1 - squares));
  const double b = -along + (random() % 4 == 0 ? -root : root);
  for (size_t j = 0; j < row.codes.size(); ++j)
    row.x.push_back(static_cast<float>(double{row.scale} * row.codes[j] + b * (query.vector[j] / norm)));
  return row;
}

std::optional<CodedRow> random_row(std::mt19937_64& random, const CodedQuery& query) {
  const auto dims = static_cast<int64_t>(query.vector.size());
  const auto vector = [&] { return random_vector(random, dims, kAllRows[random() % 8]); };
  switch (random() % 6) {
    case 0:
      return finish(parallel_row(random, query));
    case 1: {  // another writer's scale
      CodedRow row = written_row(vector());
      row.scale *= static_cast<float>(0.5 + uniform(random));
      return finish(std::move(row));
    }
    case 2: {  // another writer's codes
      CodedRow row = random_codes(random, dims);
      row.x = vector();
      return finish(std::move(row));
    }
    case 3: {  // codes without an error
      CodedRow row = random_codes(random, dims);
      row.scale = static_cast<float>(1 / length(row.codes));
      for (const int code : row.codes) row.x.push_back(static_cast<float>(code));
      return finish(std::move(row));
    }
    default:
      return finish(written_row(vector()));
  }
}

CodedQuery random_query(std::mt19937_64& random, int64_t dims) {
  CodedQuery query;
  do {
    query.vector = random_vector(random, dims, kAllRows[random() % 8]);
    if (random() % 4 == 0)
      for (float& x : query.vector) x = static_cast<float>(2 * static_cast<int>(random() % 16) - 15);
    query.norm_squared = exact_dot(query.vector.data(), query.vector.data(), dims);
  } while (!(query.norm_squared > 0));
  query.split = split_query(query.vector, query.norm_squared);
  return query;
}

// What was seen, so that a bound that is no use fails too.
struct Seen {
  int64_t pairs = 0;
  int64_t caps_below_plain = 0;
  int64_t tight = 0;  // caps less than 2^-12 above the similarity
};

void check_pair(const CodedRow& row, const CodedQuery& query, Seen& seen) {
  const auto dims = static_cast<int64_t>(row.x.size());
  int32_t high = 0, low = 0;
  for (size_t j = 0; j < row.codes.size(); ++j) {
    high += row.codes[j] * query.split.high.codes[j];
    low += row.codes[j] * query.split.low[j];
  }
  const QueryBound& coarse = query.split.high.bound;
  const QueryBound& whole = query.split.whole;
  const float coarse_estimate = coarse.estimate(static_cast<float>(high), row.scale);
  const float estimate = query.split.estimate(static_cast<float>(high), static_cast<float>(low), row.scale);
  const double similarity = cosine_from_dots(exact_dot(query.vector.data(), row.x.data(), dims),
                                             query.norm_squared, row.norm_squared);
  const float cap = cap_upper_bound({estimate, row.scale, row.residual, row.codes_squared}, whole, kInfinity);
  const float coarse_cap =
      cap_upper_bound({coarse_estimate, row.scale, row.residual, row.codes_squared}, coarse, kInfinity);
  const float plain = estimate + whole.error(row.residual);
  ASSERT_GE(cap, similarity) << dims << " dimensions, s " << row.scale << ", r " << row.residual;
  ASSERT_GE(coarse_cap, similarity) << dims << " dimensions, s " << row.scale << ", r " << row.residual;
  ASSERT_GE(plain, similarity) << dims;
  ASSERT_LE(estimate - whole.error(row.residual), similarity) << dims;
  ASSERT_GE(coarse_estimate + coarse.error(row.residual), similarity) << dims;
  ++seen.pairs;
  seen.caps_below_plain += cap < plain;
  seen.tight += cap - similarity < 0x1p-12;
}

TEST(CapBound, HoldsForRandomAndAdversarialRows) {
  GLOVE_TRACE_SEED();
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = random_source();
  Seen seen;
  for (int64_t round = 0; round < rounds(); ++round) {
    const auto dims = static_cast<int64_t>(1 + random() % (round % 16 == 0 ? 200 : 16));
    std::vector<CodedQuery> queries;
    for (int i = 0; i < kQueriesPerRound; ++i) queries.push_back(random_query(random, dims));
    for (int i = 0; i < kRowsPerRound; ++i) {
      const auto row = random_row(random, queries[random() % queries.size()]);
      if (!row) continue;
      for (const CodedQuery& query : queries) {
        check_pair(*row, query, seen);
        ASSERT_FALSE(HasFatalFailure()) << "round " << round;
      }
    }
  }
  EXPECT_GT(seen.caps_below_plain, seen.pairs / 10);
  EXPECT_GT(seen.tight, seen.pairs / 200);
  RecordProperty("pairs", std::to_string(seen.pairs));
}

// A row with a scale or residual that no writer stores has a bound that is too high, or none.
TEST(CapBound, ImpossibleValuesImplyNoBound) {
  const QueryBound bound = {0x1p-10f, 1.0f, 0x1p-19f};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(cap_upper_bound({0.5f, 0.0f, 0.1f, 100}, bound, 7), 7);  // no length
  EXPECT_EQ(cap_upper_bound({0.5f, 1e-30f, 0.1f, 100}, bound, 7),
            7);  // an estimate that may have underflowed
  EXPECT_EQ(cap_upper_bound({0.5f, -0.1f, 0.1f, 100}, bound, 7), 7);
  EXPECT_EQ(cap_upper_bound({0.5f, nan, 0.1f, 100}, bound, 7), 7);
  EXPECT_EQ(cap_upper_bound({0.5f, 0.1f, nan, 100}, bound, 7), 7);
  EXPECT_EQ(cap_upper_bound({nan, 0.1f, 0.1f, 100}, bound, 7), 7);
  EXPECT_EQ(cap_upper_bound({0.5f, 0.1f, kInfinity, 100}, bound, 7), 7);  // a zero row
  EXPECT_EQ(cap_upper_bound({0.5f, 0.2f, 0.5f, 100}, bound, 7), 7);       // no unit vector is that near
  EXPECT_EQ(cap_upper_bound({0.99f, 0.1f, 0.5f, 100}, bound, 7), 7);      // the query is in the cap
  EXPECT_NEAR(cap_upper_bound({0.0f, 0.1f, 0.6f, 100}, bound, 7), 0.5724, 1e-4);  // cos(90 - 34.9 degrees)
}

TEST(SplitQuery, HalvesMakeUpTheCodesOf16Bits) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const int64_t dims : {1, 2, 7, 8, 9, 100, 301, 65536})
    for (const Rows kind : kAllRows) {
      const std::vector<float> vector = random_vector(random, dims, kind);
      const double norm_squared = exact_dot(vector.data(), vector.data(), dims);
      if (!(norm_squared > 0)) continue;
      const SplitQuery split = split_query(vector, norm_squared);
      int32_t high_sum = 0, low_sum = 0;
      int largest = 0;
      int64_t worst = 0;  // sum with the row codes of the largest magnitude
      double squares = 0;
      ASSERT_EQ(split.low.size(), split.high.codes.size());
      for (size_t j = 0; j < split.low.size(); ++j) {
        largest = std::max(largest, std::abs(int{split.high.codes[j]}));
        high_sum += split.high.codes[j];
        low_sum += split.low[j];
        worst += 2 * 15 * 128;
        const double unit = j < vector.size() ? vector[j] / std::sqrt(norm_squared) : 0;
        const double rest = unit - (256.0 * split.high.codes[j] + split.low[j]) / (256 * split.high.scale);
        squares += rest * rest;
      }
      EXPECT_EQ(split.high.code_sum, high_sum);
      EXPECT_EQ(split.low_sum, low_sum);
      EXPECT_LT(worst, int64_t{1} << 31) << dims;
      EXPECT_LE(std::sqrt(squares), split.whole.error_offset) << dims;
      EXPECT_LT(split.whole.error_offset, 0.003f) << "a bound that is no use: " << dims;
      // The high halves alone are rounded to the nearest, and use all of their range.
      const double rounding = (0.5 + 0x1p-9) * std::sqrt(static_cast<double>(dims)) / split.high.scale;
      EXPECT_LE(split.high.bound.error_offset, rounding + 0x1p-18) << dims;
      EXPECT_EQ(largest, 127) << dims;
      if (dims >= 100) {  // of fewer components, a few may happen to lie near short codes
        const QuantizedQuery short_codes = quantize_query(vector, norm_squared, 127);
        EXPECT_LE(split.high.bound.error_offset, 1.3f * short_codes.bound.error_offset + 0x1p-18f) << dims;
      }
    }
}

TEST(Nibbles, MasksOfTheLastWordKeepItsComponents) {
  for (int64_t dims = 1; dims <= 24; ++dims) {
    const NibbleMasks masks(dims);
    const int64_t first = (nibble_words(dims) - 1) * kNibbleGroup;
    for (int64_t i = 0; i < kNibbleGroup; ++i) {
      const int32_t mask = i < kNibbleWordBytes ? masks.low : masks.high;
      const int32_t bits = mask >> 8 * (i % kNibbleWordBytes) & 0xFF;
      EXPECT_EQ(bits, first + i < dims ? 15 : 0) << dims << " dimensions, component " << first + i;
    }
  }
}

}  // namespace
}  // namespace glove
