// Which blocks of codes the cache keeps.
#include "live/code_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/float_environment.h"
#include "live/segment_encoder.h"

namespace glove::live {
namespace {

constexpr int kScansUntilStale = 64;

class CodeCacheTest : public ::testing::Test {
 protected:
  static SegmentPtr segment() {
    const ScopedFloatEnvironment float_environment;
    SegmentBuilder builder(1);
    const std::vector<float> vector = {1};
    builder.add(1, vector, 1);
    return Segment::parse(builder.finish(), 1, 1, "s").value();
  }

  static CodeBlock block(size_t bytes = kBytes) {
    const auto made = std::make_shared<HugePageBuffer<char>>();
    made->reserve(bytes);
    EXPECT_EQ(made->capacity(), bytes);
    return made;
  }

  ~CodeCacheTest() override {
    for (const SegmentPtr& each : {one_, other_}) cache_.forget(*each);
  }

  // Keeps blocks of the first segment.
  void fill(int64_t count) {
    cache_.begin_scan(*one_);
    for (int64_t number = 0; number < count; ++number) cache_.keep(*one_, number, block(), kMost);
  }
  bool has(const SegmentPtr& segment, int64_t number) const {
    return cache_.find(*segment, number) != nullptr;
  }

  static constexpr size_t kBytes = 4096;
  static constexpr int64_t kMost = 3 * kBytes;
  CodeCache& cache_ = CodeCache::instance();
  const SegmentPtr one_ = segment();
  const SegmentPtr other_ = segment();
};

TEST_F(CodeCacheTest, KeepsWhatItHasUpToItsLimit) {
  fill(4);
  EXPECT_TRUE(has(one_, 0) && has(one_, 1) && has(one_, 2));
  EXPECT_FALSE(has(one_, 3));  // the limit is reached to the byte, and those that it has stay
  EXPECT_FALSE(has(other_, 0));
}

TEST_F(CodeCacheTest, FewBlocksOfPlanesTakeThePlacesOfTheLast) {
  fill(3);
  cache_.keep(*one_, -1, block(), kMost);
  EXPECT_TRUE(has(one_, -1) && has(one_, 0) && has(one_, 1));
  EXPECT_FALSE(has(one_, 2));
  cache_.keep(*one_, -2, block(), kMost);
  cache_.keep(*one_, -3, block(), kMost);
  EXPECT_TRUE(has(one_, -1) && has(one_, -2) && has(one_, -3));
  EXPECT_FALSE(has(one_, 0) || has(one_, 1));
  cache_.keep(*one_, -4, block(), kMost);  // they never take those of one another
  EXPECT_FALSE(has(one_, -4));
  EXPECT_TRUE(has(one_, -1) && has(one_, -2) && has(one_, -3));
}

TEST_F(CodeCacheTest, ABlockThatIsTooLargeIsNotKept) {
  cache_.begin_scan(*one_);
  cache_.keep(*one_, -1, block(kMost + 1), kMost);
  cache_.keep(*one_, 0, block(kMost + 1), kMost);
  EXPECT_FALSE(has(one_, -1) || has(one_, 0));
  cache_.keep(*one_, 0, block(kMost), kMost);
  EXPECT_TRUE(has(one_, 0));
}

TEST_F(CodeCacheTest, DropsASegmentThatNoScanHasReadForLong) {
  fill(3);
  for (int scan = 0; scan < kScansUntilStale; ++scan) cache_.begin_scan(*other_);
  cache_.keep(*other_, 0, block(), kMost);
  EXPECT_FALSE(has(other_, 0));
  EXPECT_TRUE(has(one_, 0) && has(one_, 2));
  cache_.begin_scan(*other_);
  cache_.keep(*other_, 0, block(), kMost);
  EXPECT_TRUE(has(other_, 0));
  EXPECT_FALSE(has(one_, 0) || has(one_, 1) || has(one_, 2));
  for (const int64_t number : {1, 2})
    cache_.keep(*other_, number, block(), kMost);  // all room is there again
  EXPECT_TRUE(has(other_, 1) && has(other_, 2));
}

TEST_F(CodeCacheTest, DropsTheOldestWhereTheLimitBecameLower) {
  fill(3);
  cache_.begin_scan(*other_);
  cache_.keep(*other_, 0, block(), 2 * kBytes);
  EXPECT_TRUE(has(other_, 0));
  EXPECT_FALSE(has(one_, 0) || has(one_, 1) || has(one_, 2));
}

TEST_F(CodeCacheTest, ForgetsASegment) {
  fill(3);
  cache_.forget(*one_);
  EXPECT_FALSE(has(one_, 0) || has(one_, 2));
  cache_.begin_scan(*other_);
  for (const int64_t number : {0, 1, 2}) cache_.keep(*other_, number, block(), kMost);
  EXPECT_TRUE(has(other_, 0) && has(other_, 1) && has(other_, 2));
}

}  // namespace
}  // namespace glove::live
