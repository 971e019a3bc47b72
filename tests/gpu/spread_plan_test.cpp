#include "gpu/search/spread_plan.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "base/float_environment.h"
#include "cpu/cpu_backend.h"
#include "gpu/layout/plan.h"
#include "gpu/residency/model_slice.h"
#include "model/exact_dot.h"
#include "model/nibbles.h"
#include "tests/loader/random.h"
#include "tests/model/parts.h"
#include "tests/search/random_model.h"
#include "tests/search/reference.h"

namespace glove::testing {
namespace {

using gpu::divide_rows;

class SpreadPlan : public ::testing::Test {
 protected:
  ModelPtr model(int64_t words, int64_t dims) { return random_model(random_, words, dims, Rows::kGaussian); }

  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "GLOVE_TEST_SEED=" + std::to_string(test_seed())};
  std::mt19937_64 random_ = random_source();
};

TEST_F(SpreadPlan, EqualSharesWhereThereIsRoom) {
  const ModelPtr m = model(3200, 8);
  const std::vector<int64_t> room(4, int64_t{1} << 30);
  EXPECT_EQ(divide_rows(*m, room, 1), (std::vector<int64_t>{3200, 3200, 3200, 3200}));
  EXPECT_EQ(divide_rows(*m, room, 2), (std::vector<int64_t>{1600, 3200, 3200, 3200}));
  EXPECT_EQ(divide_rows(*m, room, 4), (std::vector<int64_t>{800, 1600, 2400, 3200}));
  EXPECT_EQ(divide_rows(*model(33, 8), room, 2), (std::vector<int64_t>{32, 33, 33, 33}));
}

TEST_F(SpreadPlan, OthersTakeWhatDoesNotFit) {
  const ModelPtr m = model(32000, 8);
  const int64_t all = gpu::resident_bytes(*m);
  const auto ends = divide_rows(*m, std::vector<int64_t>{all, all / 10, all}, 3);
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_LE(ends[1] - ends[0], 3200);
  EXPECT_GT(ends[1] - ends[0], 2700);
  EXPECT_NEAR(static_cast<double>(ends[0]), static_cast<double>(32000 - ends[1]), 64);
  EXPECT_EQ(divide_rows(*m, std::vector<int64_t>{all / 10, 2 * all, all}, 1)[0] > 0, true);
  EXPECT_TRUE(divide_rows(*m, std::vector<int64_t>{0, 0, -5}, 2).empty());
}

TEST_F(SpreadPlan, PiecesOfLargeBatches) {
  using gpu::batch_pieces;
  EXPECT_EQ(batch_pieces(1'000'000, 300, 1, 10, 8), 1);
  EXPECT_EQ(batch_pieces(1'000'000, 300, 511, 10, 8), 1);
  EXPECT_EQ(batch_pieces(1'000'000, 300, 512, 10, 8), 2);
  EXPECT_EQ(batch_pieces(1'000'000, 300, 1024, 10, 8), 4);
  EXPECT_EQ(batch_pieces(1'000'000, 300, 1024, 100, 3), 3);
  EXPECT_EQ(batch_pieces(1'000'000, 300, 1024, 100, 0), 1);
  // Together they take no more scratch memory than a batch that is searched in one piece.
  for (const int64_t rows : {int64_t{400}, int64_t{1} << 20, int64_t{1} << 26, int64_t{1} << 30})
    for (const int64_t top_rows : {10, 100, 256}) {
      const int64_t pieces = batch_pieces(rows, 300, 1024, top_rows, 8);
      const gpu::BatchPlan plan = gpu::plan_batch(rows, 300, 1024 / pieces, top_rows);
      if (pieces > 1 && plan.worthwhile) {
        EXPECT_LE(1024 * plan.list_capacity * 8, gpu::kListBytes) << rows << " " << top_rows;
      }
    }
  EXPECT_EQ(batch_pieces(int64_t{1} << 30, 300, 1024, 256, 8), 1);
}

TEST_F(SpreadPlan, CodesAloneWhereVectorsDoNotFit) {
  const ModelPtr m = model(32000, 40);
  const gpu::MemoryPlan plan = gpu::plan_memory(32000, 40);
  const int64_t room = plan.scan_bytes * 2 / 3;
  const auto ends = divide_rows(*m, std::vector<int64_t>{room, room}, 1);
  EXPECT_EQ(ends, (std::vector<int64_t>{16000, 32000}));
  EXPECT_TRUE(divide_rows(*m, std::vector<int64_t>{room, room / 4}, 1).empty());
}

// Whatever the plan, every share fits where it goes, and slices hold the rows of the model.
TEST_F(SpreadPlan, SlicesFitAndHoldTheRows) {
  for (int round = 0; round < 60; ++round) {
    const auto words = 1 + static_cast<int64_t>(random_() % 3000);
    const ModelPtr whole = model(words, 1 + static_cast<int64_t>(random_() % 30));
    const ModelPtr m = round % 3 == 0 && words > 2 ? rebuilt_in_parts(*whole, {words / 2, words - words / 2})
                                                   : randomly_split(whole, random_);
    std::vector<int64_t> room;
    for (uint64_t devices = 1 + random_() % 5; room.size() < devices;)
      room.push_back(static_cast<int64_t>(random_() % static_cast<uint64_t>(2 * gpu::resident_bytes(*m))));
    const auto ends = divide_rows(*m, room, 1 + static_cast<int64_t>(random_() % room.size()));
    if (ends.empty()) continue;
    ASSERT_EQ(ends.size(), room.size());
    ASSERT_EQ(ends.back(), words);
    int64_t first = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      ASSERT_LE(first, ends[i]);
      if (first == ends[i]) continue;
      const ModelPtr slice = gpu::slice_of(m, first, ends[i]);
      int64_t scan_bytes = 0;
      for (const ModelPart& part : slice->parts())
        scan_bytes += gpu::plan_memory(part.rows, part.dims).scan_bytes;
      EXPECT_LE(scan_bytes, room[i]);
      ASSERT_EQ(slice->first_row(), first);
      ASSERT_EQ(slice->words(), ends[i] - first);
      for (int64_t row = first; row < ends[i]; ++row) {
        ASSERT_EQ(
            std::memcmp(slice->vector(row), m->vector(row), static_cast<size_t>(m->dims()) * sizeof(float)),
            0);
        ASSERT_EQ(slice->norm_squared(row), m->norm_squared(row));
      }
      first = ends[i];
    }
  }
}

// A scan reads every level of a slice.
TEST_F(SpreadPlan, SlicesHaveEveryLevelOfTheirRows) {
  const ScopedFloatEnvironment float_environment;
  for (int round = 0; round < 8; ++round) {
    const ModelPtr m =
        model(400 + static_cast<int64_t>(random_() % 90), 3 + static_cast<int64_t>(random_() % 30));
    const ModelPtr slice = gpu::slice_of(m, 96, round % 2 == 0 ? 320 : m->words());
    ASSERT_EQ(slice->parts().front().levels.size(), m->parts().front().levels.size());
    Query query;
    query.vector = random_vector(random_, m->dims(), Rows::kGaussian);
    query.norm_squared = exact_dot(query.vector.data(), query.vector.data(), m->dims());
    const auto wanted = reference_relation(*slice, query);
    for (const FirstLevel level : {FirstLevel::kCoarsest, FirstLevel::kCodes8}) {
      const auto cpu = make_cpu_backend({.target = "", .threads = 1, .first_level = level});
      SearchRequest request{&query, 9, {}, {}, {}, {}};
      ASSERT_TRUE(cpu->open(slice, {}).value()->search({&request, 1}).ok());
      EXPECT_EQ(difference(request.rows, std::span(wanted).first(9)), "") << static_cast<int>(level);
    }
  }
}

// 10^8 rows of 300 dimensions, whose memory is reserved but neither written nor read: offsets of slices
// exceed 32 bits, in bytes as well as in floats.
TEST_F(SpreadPlan, SlicesOfAHundredMillionRows) {
  constexpr int64_t kRows = 100'000'000;
  constexpr int64_t kDims = 300;
  constexpr auto kFloats = static_cast<size_t>(kRows * kDims);
  void* const reserved =
      mmap(nullptr, kFloats * sizeof(float), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) GTEST_SKIP() << "this system does not reserve 120 GB of addresses";
  const std::shared_ptr<void> owner(reserved, [](void* start) { munmap(start, kFloats * sizeof(float)); });
  const auto* const floats = static_cast<const float*>(reserved);
  ModelPart part;
  part.rows = kRows;
  part.dims = kDims;
  part.vectors = {floats, kFloats};
  part.norms_squared = {reinterpret_cast<const double*>(floats), static_cast<size_t>(kRows)};
  for (const int bits : {4, 8}) {
    const int64_t bytes = bits == 4 ? nibble_bytes(kRows, kDims) : code_bytes(kRows, kDims);
    part.levels.push_back({bits,
                           {static_cast<const int8_t*>(reserved), static_cast<size_t>(bytes)},
                           {floats, static_cast<size_t>(kRows)},
                           {floats, static_cast<size_t>(kRows)}});
  }
  const auto m =
      std::make_shared<const Model>(std::vector{part}, Vocabulary({}, {}, {}), Model::Source(), owner);
  const std::vector<int64_t> room(3, int64_t{140} << 30);
  EXPECT_EQ(divide_rows(*m, room, 2), (std::vector<int64_t>{50'000'000, kRows, kRows}));
  const std::vector<int64_t> little(2, int64_t{70} << 30);
  EXPECT_EQ(divide_rows(*m, std::span(little).first(1), 1), (std::vector<int64_t>{kRows})) << "codes alone";
  EXPECT_EQ(divide_rows(*m, little, 1), (std::vector<int64_t>{kRows, kRows})) << "codes alone";
  constexpr int64_t kFirst = 96'000'000;
  const ModelPtr slice = gpu::slice_of(m, kFirst, kRows);
  const ModelPart& rows = slice->parts().front();
  EXPECT_EQ(rows.vectors.data() - floats, kFirst * kDims);
  EXPECT_EQ(static_cast<int64_t>(rows.vectors.size()), (kRows - kFirst) * kDims);
  for (const int bits : {4, 8}) {
    const int64_t before = bits == 4 ? nibble_index(kFirst, 0, kDims) : code_index(kFirst, 0, kDims);
    EXPECT_EQ(rows.level(bits).codes.data() - part.level(bits).codes.data(), before);
  }
}

TEST_F(SpreadPlan, SmallModelsStayOnOneDevice) {
  const ModelPtr m = model(3200, 8);
  const int64_t codes = code_bytes(3200, 8);
  EXPECT_EQ(gpu::worthwhile_devices(*m, 4, codes), 1);
  EXPECT_EQ(gpu::worthwhile_devices(*m, 4, codes / 2), 2);
  EXPECT_EQ(gpu::worthwhile_devices(*m, 4, codes / 2 + 1), 1);
  EXPECT_EQ(gpu::worthwhile_devices(*m, 4, 1), 4);
  EXPECT_EQ(gpu::worthwhile_devices(*model(33, 8), 4, 1), 2) << "no more devices than tiles";
}

}  // namespace
}  // namespace glove::testing
