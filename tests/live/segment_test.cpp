// Segments and the rule that joins them, without SQLite.
#include "live/segment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/float_environment.h"
#include "live/merge_rule.h"
#include "live/segment_encoder.h"
#include "model/exact_dot.h"

namespace glove::live {
namespace {

uint64_t seed() {
  const char* const given = std::getenv("GLOVE_TEST_SEED");
  if (given != nullptr) return std::strtoull(given, nullptr, 10);
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

class SegmentTest : public ::testing::Test {
 protected:
  const uint64_t seed_ = seed();
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, "GLOVE_TEST_SEED=" + std::to_string(seed_)};
  const ScopedFloatEnvironment float_environment_;
  std::mt19937_64 random_{seed_};

  // The bytes of `rows` random rows with the ids 0, 3, 6, ...
  HugePageBuffer<char> random_bytes(int64_t rows, int64_t dims) {
    SegmentBuilder builder(dims);
    std::normal_distribution<float> normal;
    std::vector<float> vector(static_cast<size_t>(dims));
    for (int64_t row = 0; row < rows; ++row) {
      for (float& x : vector) x = normal(random_);
      builder.add(3 * row, vector, exact_dot(vector.data(), vector.data(), dims));
    }
    return builder.finish();
  }
};

TEST_F(SegmentTest, BytesAreReadAsTheyWereWritten) {
  for (const int64_t dims : {1, 4, 7, 100})
    for (const int64_t rows : {1, 31, 32, 33, 100}) {
      const HugePageBuffer<char> bytes = random_bytes(rows, dims);
      const auto segment = Segment::parse(bytes, rows, dims, "s");
      ASSERT_TRUE(segment.ok()) << segment.error().message;
      EXPECT_EQ(segment.value()->ids().back(), 3 * (rows - 1));
      SegmentBuilder copy(dims);
      for (int64_t row = 0; row < rows; ++row) copy.copy(*segment.value(), row);
      EXPECT_EQ(copy.finish(), bytes) << rows << " x " << dims;
    }
}

TEST_F(SegmentTest, SeveralThreadsMakeTheSameBytes) {
  for (const int64_t dims : {7, 8, 100})
    for (const int64_t rows : {1, 40, 700, 12000})
      for (const int64_t expected : {int64_t{0}, rows / 2, rows}) {
        SegmentBuilder one(dims);
        SegmentBuilder several(dims, expected);
        SegmentEncoder encoder(several);
        std::vector<float> vector(static_cast<size_t>(dims));
        for (int64_t row = 0; row < rows; ++row) {
          for (float& x : vector) x = static_cast<float>(random_() % 1000) + 1;
          const double norm_squared = exact_dot(vector.data(), vector.data(), dims);
          one.add(7 * row, vector, norm_squared);
          encoder.add(7 * row, vector, norm_squared);
        }
        encoder.finish();
        EXPECT_EQ(several.finish(), one.finish()) << rows << " x " << dims << ", expected " << expected;
      }
}

TEST_F(SegmentTest, BytesThatCannotBeASegmentAreAnError) {
  const HugePageBuffer<char> bytes = random_bytes(40, 5);
  EXPECT_FALSE(Segment::parse(bytes, 41, 5, "s").ok());
  EXPECT_FALSE(Segment::parse(bytes, 40, 9, "s").ok());
  EXPECT_FALSE(Segment::parse({}, 1, 1, "s").ok());
  HugePageBuffer<char> unordered = bytes;
  std::fill_n(unordered.begin() + code_bytes(40, 5), 8, '\x7f');  // the first id
  EXPECT_EQ(Segment::parse(unordered, 40, 5, "s").status().error().message,
            "s has ids that are not in ascending order");
  HugePageBuffer<char> not_a_number = bytes;
  std::fill_n(not_a_number.begin() + segment_bytes(40, 5) - 4, 4, '\xff');  // the last residual
  EXPECT_FALSE(Segment::parse(not_a_number, 40, 5, "s").ok());
  for (const auto& [rows, dims] : {std::pair<int64_t, int64_t>{40, 5}, {40, 4}, {32, 6}, {1, 1}, {64, 8}}) {
    const HugePageBuffer<char> whole = random_bytes(rows, dims);
    for (int64_t row = 0; row < tile_count(rows) * kTileRows; ++row)
      for (int64_t component = 0; component < component_groups(dims) * kTileComponents; ++component) {
        HugePageBuffer<char> changed = whole;
        changed[static_cast<size_t>(code_index(row, component, dims))] ^= 1;
        const bool exists = row < rows && component < dims;
        EXPECT_EQ(Segment::parse(changed, rows, dims, "s").ok(), exists) << row << ", " << component;
      }
  }
}

// Applies the rule as a sync does, and returns whether segments were joined.
bool apply_rule(std::vector<SegmentSize>& segments) {
  const std::vector<size_t> joined = segments_to_join(segments);
  SegmentSize one;
  for (const size_t i : joined) one.rows += segments[i].rows - segments[i].dead;
  for (auto i = joined.rbegin(); i != joined.rend(); ++i)
    segments.erase(segments.begin() + static_cast<ptrdiff_t>(*i));
  if (one.rows > 0) segments.push_back(one);
  return !joined.empty();
}

TEST_F(SegmentTest, TheRuleBoundsTheNumberOfSegments) {
  std::vector<SegmentSize> segments;
  for (int sync = 0; sync < 2000; ++sync) {
    segments.push_back({1 + static_cast<int64_t>(random_() % 1000), 0});
    for (SegmentSize& segment : segments)
      segment.dead += static_cast<int64_t>(random_() % 3) * (segment.rows - segment.dead) / 40;
    apply_rule(segments);
    EXPECT_FALSE(apply_rule(segments)) << "one round is enough";
    int64_t smaller = 0;
    std::sort(segments.begin(), segments.end(),
              [](const SegmentSize& a, const SegmentSize& b) { return a.rows - a.dead < b.rows - b.dead; });
    for (const SegmentSize& segment : segments) {
      EXPECT_TRUE(smaller == 0 || segment.rows - segment.dead > 2 * smaller);
      EXPECT_LE(segment.dead, segment.rows / 4);
      smaller += segment.rows - segment.dead;
    }
    EXPECT_LE(segments.size(), 15U);
  }
}

}  // namespace
}  // namespace glove::live
