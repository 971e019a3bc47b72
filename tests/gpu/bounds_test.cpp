#include "gpu/layout/bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "lists/planes.h"
#include "tests/loader/random.h"

namespace glove::gpu {
namespace {

TEST(Bins, AFloorIsNeverAboveWhatItsBinCounts) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = testing::random_source();
  std::uniform_real_distribution<float> uniform(-1.1f, 1.1f);
  for (int i = 0; i < 200000; ++i) {
    float x = uniform(random);
    if (i % 3 == 0) x = std::nextafter(bin_floor(static_cast<int>(random() % kBins)), i % 2 ? 2.0f : -2.0f);
    ASSERT_LE(bin_floor(bin_of(x)), x) << std::hexfloat << x;
    ASSERT_GE(bin_of(x), 0);
    ASSERT_LT(bin_of(x), kBins);
  }
}

TEST(Bins, RiseWithTheBound) {
  float previous = -2;
  for (int i = 0; i < 400000; ++i) {
    const float x = -1.05f + static_cast<float>(i) * (2.1f / 400000);
    ASSERT_LE(bin_of(previous), bin_of(x)) << std::hexfloat << x;
    previous = x;
  }
}

TEST(Bins, HoldEveryFloorAndTheEnds) {
  for (int bin = 1; bin < kBins; ++bin) ASSERT_EQ(bin_of(bin_floor(bin)), bin);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(bin_of(-infinity), 0);
  EXPECT_EQ(bin_of(infinity), kBins - 1);
  EXPECT_EQ(bin_floor(0), -infinity);
}

// Therefore no row whose bound reaches the threshold is omitted.
TEST(UpperCodes, RiseWithTheBound) {
  float previous = -2;
  for (int i = 0; i < 400000; ++i) {
    const float x = -1.05f + static_cast<float>(i) * (2.1f / 400000);
    ASSERT_LE(upper_code(previous), upper_code(x)) << std::hexfloat << x;
    ASSERT_GE(upper_code(x), threshold_code(previous)) << std::hexfloat << x;
    previous = x;
  }
  for (int bin = 1; bin < kBins; ++bin) {
    const float floor = bin_floor(bin);
    ASSERT_GE(upper_code(floor), threshold_code(floor));
    ASSERT_GE(upper_code(std::nextafter(floor, 2.0f)), threshold_code(floor));
    ASSERT_LT(upper_code(floor - 1.0f / 1024), threshold_code(floor));
  }
}

// Therefore what a device returns for a row is a bound of its similarity.
TEST(UpperCodes, AreBoundsThemselves) {
  for (int i = 0; i < 400000; ++i) {
    const float x = -1.5f + static_cast<float>(i) * (4.4f / 400000);
    ASSERT_GE(upper_of_code(upper_code(x)), x) << std::hexfloat << x;
    ASSERT_LE(upper_of_code(upper_code(x)), std::max(x, -1.0f) + 0x1p-13) << std::hexfloat << x;
  }
  EXPECT_GE(upper_of_code(upper_code(std::numeric_limits<float>::infinity())), 1);
  EXPECT_GE(upper_of_code(upper_code(-std::numeric_limits<float>::max())), -1);
}

// Therefore a scan by planes drops no row that the proof keeps.
TEST(PlaneSimilarities, AreAtLeastThoseOfTheProof) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = testing::random_source();
  std::uniform_real_distribution<float> exponent(-14, 3), product_in(-24, 24), near(-1.2f, 1.2f);
  for (int i = 0; i < 400000; ++i) {
    const float distance = std::exp2(exponent(random));
    float product = i % 4 == 0 ? product_in(random) : near(random);
    if (i % 8 == 1) product = 1 - std::exp2(exponent(random) - 14);
    // The product may be too small by its roundings. largest_similarity() adds a slack of its own.
    const double most = static_cast<double>(product) + static_cast<double>(kPlaneSlack / 2 * 3);
    const float exact = largest_similarity(most, static_cast<double>(distance));
    const float found = largest_plane_similarity(product, distance);
    ASSERT_GE(found, most < 1 ? exact - 4 * kPlaneSlack : 1) << std::hexfloat << product << " " << distance;
    ASSERT_LE(found, exact + 5 * kPlaneSlack) << std::hexfloat << product << " " << distance;
  }
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float product : {-infinity, -1.0f, 0.0f, 1.0f, infinity, nan}) {
    EXPECT_EQ(largest_plane_similarity(product, infinity), 1) << product;
    EXPECT_EQ(largest_plane_similarity(product, nan), 1) << product;
  }
  EXPECT_EQ(largest_plane_similarity(nan, 0.1f), 1);
}

TEST(UpperCodes, HoldTheEnds) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(upper_code(-infinity), 0);
  EXPECT_EQ(upper_code(-largest), 1);
  EXPECT_EQ(threshold_code(-infinity), 1);  // every row passes except inadmissible ones
  EXPECT_EQ(upper_code(infinity), upper_code(largest));
  EXPECT_GT(upper_code(infinity), upper_code(1.0f));
  EXPECT_GE(upper_code(largest), threshold_code(infinity));
}

}  // namespace
}  // namespace glove::gpu
