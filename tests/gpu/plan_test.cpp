#include "gpu/layout/plan.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <utility>
#include <vector>

#include "gpu/layout/packed_rows.h"
#include "model/limits.h"
#include "model/nibbles.h"
#include "model/quantize.h"
#include "tests/loader/random.h"

namespace glove::gpu {
namespace {

TEST(BlockLayout, PlacesBoundArrays) {
  BlockLayout layout;
  float* first = nullptr;
  double* second = nullptr;
  layout.bind(first, 65);
  const Slot<int32_t> between = layout.add<int32_t>(1);
  layout.bind(second, 3);
  EXPECT_EQ(layout.bytes(), 512 + 256 + 256);
  std::vector<std::byte> block(static_cast<size_t>(layout.bytes()));
  layout.place(block.data());
  EXPECT_EQ(reinterpret_cast<std::byte*>(first), block.data());
  EXPECT_EQ(reinterpret_cast<std::byte*>(between.in(block.data())), block.data() + 512);
  EXPECT_EQ(reinterpret_cast<std::byte*>(second), block.data() + 768);
}

TEST(Parts, BeginWithTheFirstAdmissibleTile) {
  constexpr int64_t kDims = 13;
  std::vector<int8_t> codes(8192);
  const std::vector<float> numbers(128);
  const std::vector<double> norms(96);
  const std::vector<uint32_t> words = {0, 0, 5};
  DevicePart part;
  part.first_row = 1000;
  part.rows = 70;
  part.dims = kDims;
  part.norms_squared = norms.data();
  part.level = {codes.data(), numbers.data(), numbers.data() + 1, numbers.data() + 2, numbers.data() + 3};
  part.coarse.codes = codes.data();
  part.packed_rows = reinterpret_cast<const std::byte*>(codes.data());
  part.mask = {words.data(), 2, 6, 2};
  const DevicePart rest = from_first_admissible(part);
  EXPECT_EQ(rest.first_row, 1064);
  EXPECT_EQ(rest.rows, 6);
  EXPECT_EQ(rest.vectors, nullptr);
  EXPECT_EQ(rest.norms_squared, norms.data() + 64);
  EXPECT_EQ(rest.level.codes, codes.data() + code_index(64, 0, kDims));
  EXPECT_EQ(rest.level.scales, numbers.data() + 64);
  EXPECT_EQ(rest.level.residuals, numbers.data() + 65);
  EXPECT_EQ(rest.level.along, numbers.data() + 66);
  EXPECT_EQ(rest.level.lengths, numbers.data() + 67);
  EXPECT_EQ(rest.coarse.codes, codes.data() + nibble_index(64, 0, kDims));
  EXPECT_EQ(rest.coarse.scales, nullptr);
  EXPECT_EQ(rest.packed_rows - part.packed_rows, 64 * packed_row_bytes(kDims));
  EXPECT_EQ(*rest.mask.words, 5u);
  EXPECT_EQ(rest.mask.first_tile, 0);
  EXPECT_EQ(from_first_admissible(rest).rows, 6);
}

TEST(MemoryPlan, PadsToTilesAndAlignment) {
  BlockLayout scan, exact;
  const LevelSlots level = add_level(scan, 8, 33, 5);
  EXPECT_EQ(level.codes.at, 0);
  EXPECT_EQ(level.scales.at, 512);     // 2 tiles x 2 groups x 128 bytes
  EXPECT_EQ(level.residuals.at, 768);  // 64 rows x 4 bytes
  EXPECT_EQ(scan.bytes(), 1024);
  const ExactSlots slots = add_exact_arrays(exact, 33, 5, true);
  EXPECT_EQ(slots.norms_squared.at, 0);
  EXPECT_EQ(slots.vectors.at, 512);         // 33 x 8 = 264
  EXPECT_EQ(slots.coarse.codes.at, 1280);   // 33 x 5 x 4 = 660
  EXPECT_EQ(slots.coarse.scales.at, 1536);  // 2 tiles x 1 word x 128 bytes
  EXPECT_EQ(slots.coarse.residuals.at, 1792);
  EXPECT_EQ(slots.packed_rows.at, 2048);
  EXPECT_EQ(exact.bytes(), 3072);  // 64 rows x 16 bytes
  const MemoryPlan plan = plan_memory(33, 5);
  EXPECT_EQ(plan.scan_bytes, 1024);
  EXPECT_EQ(plan.exact_bytes, 1280);
  EXPECT_EQ(plan.coarse_bytes, 1792);
}

TEST(MemoryPlan, OfTheLargestPublishedModel) {
  const MemoryPlan plan = plan_memory(2196016, 300);
  BlockLayout layout;
  EXPECT_EQ(add_level(layout, 8, 2196016, 300).codes.bytes(), code_bytes(2196016, 300));
  EXPECT_NEAR(static_cast<double>(plan.scan_bytes), 676.4e6, 1e6);
  EXPECT_NEAR(static_cast<double>(plan.exact_bytes), 2652.8e6, 1e6);
  EXPECT_NEAR(static_cast<double>(plan.coarse_bytes), 1054.1e6, 1e6);
}

TEST(MemoryPlan, OfTheMostRows) {
  constexpr int64_t kPadded = (int64_t{1} << 31) - 64;
  BlockLayout scan, exact;
  const LevelSlots level = add_level(scan, 8, kMaxRows, 8);
  EXPECT_EQ(level.codes.bytes(), 8 * kPadded);
  EXPECT_EQ(level.scales.bytes(), 4 * kPadded);
  const ExactSlots slots = add_exact_arrays(exact, kMaxRows, 8, true);
  EXPECT_EQ(slots.vectors.bytes(), 32 * kMaxRows);
  EXPECT_EQ(slots.coarse.codes.at - slots.vectors.at, 32 * kMaxRows + 32);  // aligned
  EXPECT_EQ(slots.coarse.codes.bytes(), 4 * kPadded);
  EXPECT_EQ(slots.packed_rows.bytes(), 16 * kPadded);
}

TEST(BatchPlan, FitsItsMemory) {
  for (const int64_t words : {int64_t{5000}, int64_t{20000}, int64_t{341479}, int64_t{2196016},
                              int64_t{50000000}, int64_t{1} << 30, kMaxRows})
    for (const int64_t wanted : {1, 11, 100, 256})
      for (const int64_t queries : {2, 17, 1024, 100000}) {
        const BatchPlan plan = plan_batch(words, 300, queries, wanted);
        if (!plan.worthwhile) continue;
        EXPECT_LE(plan.queries_per_round * plan.list_capacity * 8, kListBytes);
        EXPECT_LE(plan.queries_per_round * plan.sample_tiles * 4, kSampleBytes);
        EXPECT_LE(plan.queries_per_round * (plan.list_capacity * 8 + plan.sample_tiles * 4) + 8 * words,
                  scratch_reserve(words));
        EXPECT_GE(plan.queries_per_round, 16);
        EXPECT_EQ(plan.queries_per_round % 16, 0);
        EXPECT_GE(plan.sample_tiles, wanted);
        EXPECT_LE(plan.sample_tiles, tile_count(words));
        EXPECT_GE(plan.list_capacity, wanted);
      }
}

TEST(BatchPlan, OneRoundForLargeModels) {
  for (const int64_t words : {int64_t{2196016}, int64_t{50'000'000}, int64_t{75'000'000}})
    for (const int64_t wanted : {1, 11, 100}) {
      const BatchPlan plan = plan_batch(words, 300, 1024, wanted);
      EXPECT_EQ(plan.queries_per_round, 1024) << words << " rows, the best " << wanted;
      const int64_t expected = wanted * (tile_count(words) / plan.sample_tiles);
      EXPECT_GE(plan.list_capacity, 8 * expected) << words << " rows, the best " << wanted;
    }
}

TEST(BatchPlan, SmallerSampleForFewRows) {
  const int64_t tiles = tile_count(20'000'000);
  EXPECT_EQ(plan_batch(20'000'000, 300, 1024, 11).sample_tiles, tiles / 32);
  EXPECT_EQ(plan_batch(20'000'000, 300, 1024, 100).sample_tiles, tiles / 16);
}

// If few tiles have admissible rows, as many of those are in the sample as of a model that has no others.
TEST(BatchPlan, ScansTheTilesOfAMask) {
  const int64_t tiles = tile_count(20'000'000);
  EXPECT_EQ(plan_batch(20'000'000, 300, 1024, 11, 20'000'000).sample_tiles, tiles / 32);
  EXPECT_EQ(plan_batch(20'000'000, 300, 1024, 11, 10'000'000).sample_tiles, tiles / 2 / 32 * 2);
  EXPECT_EQ(plan_batch(20'000'000, 300, 1024, 11, 320'000).sample_tiles, (1024 * tiles + 9999) / 10'000);
  EXPECT_EQ(plan_batch(2'000'000, 300, 1024, 11, 3'200).sample_tiles, tile_count(2'000'000));
  EXPECT_FALSE(plan_batch(20'000'000, 300, 1024, 11, 43 * 32).worthwhile);
  EXPECT_TRUE(plan_batch(20'000'000, 300, 1024, 11, 44 * 32).worthwhile);
}

TEST(BatchPlan, OneAfterTheOtherWhereABatchGainsNothing) {
  EXPECT_FALSE(plan_batch(2196016, 300, 1, 10).worthwhile);
  EXPECT_FALSE(plan_batch(2196016, 300, 1024, 5000).worthwhile);
  EXPECT_FALSE(plan_batch(1000, 300, 1024, 10).worthwhile);
  EXPECT_FALSE(plan_batch(2196016, 5000, 1024, 10).worthwhile);
  EXPECT_TRUE(plan_batch(2196016, 300, 1024, 10).worthwhile);
}

DevicePart part_of(int64_t rows, bool on_device) {
  static const float vectors[1] = {};
  static const std::byte packed[1] = {};
  DevicePart part;
  part.rows = rows;
  part.dims = 300;
  part.vectors = on_device ? vectors : nullptr;
  part.packed_rows = on_device ? packed : nullptr;
  return part;
}

TEST(SinglePlan, CountsRowsWhenTilesAreTooFew) {
  EXPECT_FALSE(plan_single(part_of(2196016, true), 5000, kCoarseFrom).count_every_row);
  EXPECT_TRUE(plan_single(part_of(20000, true), 1000, kCoarseFrom).count_every_row);
  EXPECT_TRUE(plan_single(part_of(1, true), 1, kCoarseFrom).count_every_row);
}

TEST(SinglePlan, RanksOnTheDeviceWhereThatIsFaster) {
  for (const auto& [top_rows, ranked] : {std::pair{63, false}, {64, true}, {16384, true}, {16385, false}})
    EXPECT_EQ(plan_single(part_of(2196016, true), top_rows, kCoarseFrom).ranked, ranked);
  EXPECT_FALSE(plan_single(part_of(2196016, false), 100, kCoarseFrom).ranked);
}

TEST(SinglePlan, ReadsFourBitsOfPackedRows) {
  const DevicePart large = part_of(2196016, true);
  const int64_t rest = tile_count(2196016) * kTileRows * 8;
  EXPECT_EQ(plan_single(large, 10, kCoarseFrom).bits, 4);
  EXPECT_EQ(plan_single(large, 10, kCoarseFrom).bytes, nibble_bytes(2196016, 300) + rest);
  EXPECT_EQ(plan_single(large, 20000, kCoarseFrom).bits, 8);
  EXPECT_EQ(plan_single(part_of(2196016, false), 10, kCoarseFrom).bits, 8);
  EXPECT_EQ(plan_single(part_of(2196016, false), 10, kCoarseFrom).bytes, code_bytes(2196016, 300) + rest);
}

TEST(SingleScan, ReadsFourBitsOfLargeModelsForSmallK) {
  EXPECT_TRUE(coarse_worthwhile(2196016, 300, 5000, kCoarseFrom));
  EXPECT_FALSE(coarse_worthwhile(2196016, 300, 20000, kCoarseFrom));
  EXPECT_FALSE(coarse_worthwhile(100000, 300, 10, kCoarseFrom));
  EXPECT_FALSE(coarse_worthwhile(1, 1, 1, 0));
}

}  // namespace
}  // namespace glove::gpu
