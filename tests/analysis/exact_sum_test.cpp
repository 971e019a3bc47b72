// Sums without rounding, against sums of integers and against long orders of additions.
#include "analysis/exact_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/float_environment.h"
#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

double value_of(const ScaledNumber& number) {
  return std::ldexp(number.m, number.exponent);
}

double sum_of(const ExactSums& sums, size_t component = 0) {
  return value_of(sums.rounded(component));
}

void add(ExactSums& sums, double weight, float x) {
  sums.add(weight, std::span<const float>(&x, 1));
}

TEST(ExactSums, KeepWhatDoublesLose) {
  const ScopedFloatEnvironment environment;
  ExactSums sums(1);
  EXPECT_EQ(sum_of(sums), 0);
  add(sums, 1e300, 1e30f);
  add(sums, 1, 3);
  add(sums, 5e-324, 1e-45f);
  add(sums, 1e300, -1e30f);
  EXPECT_EQ(sum_of(sums), 3) << "the rest is below half a unit in the last place";
  add(sums, 1, -3);
  EXPECT_EQ(sums.rounded(0).m, 0x1p52) << "the smallest product is left";
  EXPECT_EQ(sums.rounded(0).exponent, -1223 - 52);
}

TEST(ExactSums, RoundToNearestWithTiesToEven) {
  const ScopedFloatEnvironment environment;
  for (const auto& [low, expected] : {std::pair(1.0f, 0x1p53), std::pair(3.0f, 0x1p53 + 4)}) {
    ExactSums sums(1);
    add(sums, 0x1p53, 1);
    add(sums, 1, low);
    EXPECT_EQ(sum_of(sums), expected);
    add(sums, 0x1p-200, 1);
    EXPECT_EQ(sum_of(sums), low == 1 ? 0x1p53 + 2 : 0x1p53 + 4) << "just above the tie";
  }
  ExactSums carry(1);
  add(carry, 0x1p53 - 1, 1);
  add(carry, 0.5, 1);
  EXPECT_EQ(sum_of(carry), 0x1p53);
  add(carry, 1, -std::numeric_limits<float>::max());
  add(carry, 1, -std::numeric_limits<float>::max());
  EXPECT_EQ(sum_of(carry), -2.0 * std::numeric_limits<float>::max());
}

TEST(ExactSums, AreThoseOfIntegers) {
  const ScopedFloatEnvironment environment;
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(70);
  for (int round = 0; round < 200; ++round) {
    ExactSums sums(3);
    int64_t expected[3] = {};
    for (int i = 0; i < 100; ++i) {
      const auto weight = static_cast<int64_t>(random() % 1000000);
      std::vector<float> vector(3);
      for (size_t j = 0; j < 3; ++j) {
        const auto x = static_cast<int64_t>(random() % 200001) - 100000;
        vector[j] = static_cast<float>(x);
        expected[j] += weight * x;
      }
      sums.add(static_cast<double>(weight), vector);
    }
    for (size_t j = 0; j < 3; ++j) EXPECT_EQ(sum_of(sums, j), static_cast<double>(expected[j]));
  }
}

float random_float(std::mt19937_64& random) {
  for (;;)
    if (const auto x = std::bit_cast<float>(static_cast<uint32_t>(random())); std::isfinite(x)) return x;
}

double random_weight(std::mt19937_64& random) {
  for (;;)
    if (const auto x = std::bit_cast<double>(random()); std::isfinite(x)) return x;
}

TEST(ExactSums, TakeBackWhatWasAdded) {
  const ScopedFloatEnvironment environment;
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(71);
  constexpr size_t kRows = 300;
  std::vector<std::pair<double, std::vector<float>>> rows;
  for (size_t i = 0; i < kRows; ++i)
    rows.push_back({random_weight(random), {random_float(random), random_float(random)}});
  ExactSums window(2);
  for (size_t i = 0; i < kRows; ++i) {
    window.add(rows[i].first, rows[i].second);
    if (i >= 10) window.subtract(rows[i - 10].first, rows[i - 10].second);
    ExactSums fresh(2);
    for (size_t k = i + 1; k-- > (i >= 10 ? i - 9 : 0);) fresh.add(rows[k].first, rows[k].second);
    for (size_t j = 0; j < 2; ++j) {
      ASSERT_EQ(window.rounded(j).m, fresh.rounded(j).m);
      ASSERT_EQ(window.rounded(j).exponent, fresh.rounded(j).exponent);
    }
  }
}

TEST(ExactSums, Quotients) {
  const ScopedFloatEnvironment environment;
  ExactSums sums(1);
  ExactSums weight(1);
  for (int i = 0; i < 3; ++i) {
    add(sums, 1e308, std::numeric_limits<float>::max());
    add(weight, 1e308, 1);
  }
  EXPECT_EQ(quotient(sums.rounded(0), weight.rounded(0)), std::numeric_limits<float>::max())
      << "although neither sum is a double";
  EXPECT_EQ(quotient(ScaledNumber{}, weight.rounded(0)), 0);
}

}  // namespace
}  // namespace glove::test
