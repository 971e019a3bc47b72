// D(a, b): its order to the last bit, and its distance from the true sum.
#include "model/exact_dot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tests/cosine_similarity.h"
#include "tests/loader/random.h"
#include "tests/search/random_model.h"
#include "tests/search/reference.h"

namespace glove {
namespace {

using namespace glove::testing;

TEST(ExactDot, HasTheDocumentedOrder) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const int64_t dims : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 50, 63, 100, 300, 1023, 4096})
    for (const Rows kind : kAllRows) {
      const auto a = random_vector(random, dims, kind);
      const auto b = random_vector(random, dims, kAllRows[random() % 8]);
      const double got = exact_dot(a.data(), b.data(), dims);
      const double wanted = reference_dot(a.data(), b.data(), dims);
      EXPECT_EQ(got, wanted) << dims;
      EXPECT_EQ(std::signbit(got), std::signbit(wanted)) << dims;
    }
}

TEST(ExactDot, PiecesAndDoublesGiveTheBitsOfTheWhole) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const int64_t dims : {1, 8, 100, 1023}) {
    const auto a = random_vector(random, dims, Rows::kGaussian);
    const auto b = random_vector(random, dims, Rows::kGaussian);
    PiecewiseDot pieces;
    for (int64_t first = 0; first < dims;) {
      const int64_t count = std::min(dims - first, static_cast<int64_t>(random() % 20 * 8));
      pieces.add(a.data() + first, b.data() + first, count);
      first += count;
    }
    EXPECT_EQ(pieces.value(), exact_dot(a.data(), b.data(), dims)) << dims;
    const std::vector<double> wide(a.begin(), a.end());
    EXPECT_EQ(exact_dot(wide.data(), b.data(), dims), exact_dot(a.data(), b.data(), dims)) << dims;
  }
}

// Eight values whose sum depends on the order: it is 1 in the documented order, and 0 from left to right.
TEST(ExactDot, TellsOrdersApart) {
  const float big = 0x1p60f;
  const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  const float a[8] = {big, 1, 0, 0, -big, 0, 0, 0};
  EXPECT_EQ(exact_dot(a, ones, 8), 1.0);
  const float b[8] = {big, -big, 0, 0, 1, 0, 0, 0};
  EXPECT_EQ(exact_dot(b, ones, 8), 0.0);
}

#if LDBL_MANT_DIG == 113
using Quad = long double;
#else
using Quad = __float128;
#endif

// Compares with a sum in 113 bits, where products of floats and sums of similar size are exact enough.
TEST(ExactDot, IsWithinItsErrorBound) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const int64_t dims : {1, 10, 100, 1000, 4096}) {
    const auto a = random_vector(random, dims, Rows::kGaussian);
    const auto b = random_vector(random, dims, Rows::kGaussian);
    Quad sum = 0, magnitude = 0;
    for (size_t j = 0; j < a.size(); ++j) {
      const Quad product = static_cast<Quad>(a[j]) * b[j];
      sum += product;
      magnitude += product < 0 ? -product : product;
    }
    const double error = std::fabs(static_cast<double>(exact_dot(a.data(), b.data(), dims) - sum));
    EXPECT_LE(error, static_cast<double>(magnitude) * (static_cast<double>(dims) / 8 + 4) * 0x1p-53);
  }
}

TEST(ExactDot, CosineOfAVectorWithItselfIsOne) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const Rows kind : {Rows::kGaussian, Rows::kHuge, Rows::kTiny, Rows::kDenormal, Rows::kOneHot})
    for (int i = 0; i < 200; ++i) {
      const auto a = random_vector(random, 1 + static_cast<int64_t>(random() % 300), kind);
      const auto cosine = cosine_similarity(a, a);
      if (cosine) {
        EXPECT_EQ(*cosine, 1.0);
      }
    }
  const float largest[] = {3.4e38f, 3.4e38f}, smallest[] = {1e-45f, 0};
  EXPECT_EQ(cosine_similarity(largest, largest), 1.0);
  EXPECT_EQ(cosine_similarity(smallest, smallest), 1.0);
  const float opposite[] = {-1e-45f, 0};
  EXPECT_EQ(cosine_similarity(smallest, opposite), -1.0);
  const float zero[] = {0, -0.0f};
  EXPECT_EQ(cosine_similarity(smallest, zero), std::nullopt);
  EXPECT_EQ(cosine_similarity(zero, smallest), std::nullopt);
}

}  // namespace
}  // namespace glove
