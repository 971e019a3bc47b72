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
