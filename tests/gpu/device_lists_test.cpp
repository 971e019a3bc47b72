// When a device scans the planes or the signs of a model in lists.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "gpu/layout/plan.h"
#include "tests/gpu/device_fixture.h"
#include "tests/gpu/in_lists.h"

namespace glove::testing {
namespace {

// Planes follow with the 4-bit codes, if there is room for them as well.
TEST_F(DeviceBackendTest, ScansPlanesOnceTheyAreThere) {
  make();
  constexpr int64_t kMostPlanesK = 12;
  const gpu::MemoryPlan plan = gpu::plan_memory(5000, 40);
  for (const bool fits : {false, true}) {
    const ModelPtr m = in_lists(model(5000, 40, Rows::kGaussian), 300, random_, kMostPlanesK);
    gpu::BlockLayout planes;
    gpu::add_plane_arrays(planes, 5000, 40, *m->parts().front().planes, false);
    const int64_t before = plan.scan_bytes + plan.exact_bytes + plan.coarse_bytes;
    limit_ = before + planes.bytes() - (fits ? 0 : 1);
    ASSERT_TRUE(open(m).ok());
    knobs_.coarse_searches = knobs_.plane_searches = 0;
    for (int i = 0; i < 1000 && knobs_.coarse_searches + knobs_.plane_searches == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      expect_right(m, 1);
    }
    EXPECT_EQ(knobs_.plane_searches > 0, fits);
    EXPECT_EQ(info(m).device_bytes, before + (fits ? planes.bytes() : 0));
    for (const int64_t k : {1, 9, 10, 39}) {  // of three words that one query excludes
      knobs_.plane_searches = 0;
      expect_right(m, k);
      EXPECT_EQ(knobs_.plane_searches > 0, fits && k + 3 <= kMostPlanesK) << k;
    }
    knobs_.plane_searches = 0;
    limit_ = limit_ + 4096;  // for the mask
    expect_right(m, 5, random_mask(random_, *m));
    EXPECT_EQ(knobs_.plane_searches, 0);
    forget(m);
    EXPECT_EQ(knobs_.allocated, 0);
  }
}

// With a certainty below 1 a search scans the signs, and a proof where they hide rows.
TEST_F(DeviceBackendTest, ScansSignsForACertainty) {
  make();
  constexpr int64_t kDims = 256;
  const ModelPtr whole = in_lists(model(8400, kDims, Rows::kGaussian), 40, random_, 12, true);
  std::vector<uint16_t> zeros(whole->parts().front().planes->sign_bounds.size());
  for (const bool is_damaged : {false, true}) {
    ModelPart part = whole->parts().front();
    PlaneLevel level = *part.planes;
    if (is_damaged) level.sign_bounds = zeros;
    part.planes = &level;
    const auto m = std::make_shared<Model>(std::vector{part}, whole->vocabulary(), Model::Source(), whole);
    ASSERT_TRUE(open(m).ok());
    for (int i = 0; i < 1000 && knobs_.plane_searches == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      expect_right(m, 1);
    }
    const auto searcher = searchers(m)->open(0, {});
    for (const int64_t k : {1, 10, 100}) {
      knobs_.plane_searches = knobs_.sign_searches = knobs_.coarse_searches = 0;
      Query query = this->query(*m);
      if (k == 10) query.excluded = {0, 7, 9};
      SearchRequest request{&query, k, nullptr, {}, {}, {}};
      request.certainty = 1 - 1e-9;
      ASSERT_TRUE(searcher.value()->search({&request, 1}).ok());
      EXPECT_EQ(knobs_.sign_searches > 0, k < 100) << k;  // more rows than a quarter of the tiles
      EXPECT_EQ(request.uncertain, k < 100 && !is_damaged) << k;
      EXPECT_EQ(knobs_.plane_searches + knobs_.coarse_searches > 0, k < 100 && is_damaged) << k;
      const auto wanted = reference_relation(*m, query);
      EXPECT_EQ(difference(request.rows, std::span(wanted).first(static_cast<size_t>(k))), "") << k;
    }
    forget(m);
    knobs_.plane_searches = 0;
  }
}

// Devices that share a model have the lists of their own rows. Of a damaged file, those that have a row twice
// or lack one have none.
TEST_F(DeviceBackendTest, ScansTheListsOfASharedModel) {
  for (int i = 0; i < 2; ++i) more_knobs_.emplace_back();
  least_slice_bytes_ = 1;
  make();
  const ModelPtr whole = in_lists(model(25003, 256, Rows::kGaussian), 60, random_, 40, true);
  enum class Damage { kNone, kOfTwoDevices, kOfOneDevice };
  for (const Damage damage : {Damage::kNone, Damage::kOfTwoDevices, Damage::kOfOneDevice}) {
    ModelPart part = whole->parts().front();
    PlaneLevel level = *part.planes;
    std::vector<int32_t> rows(level.rows.begin(), level.rows.end());
    if (damage == Damage::kOfTwoDevices) *std::ranges::find(rows, 25002) = 0;
    if (damage == Damage::kOfOneDevice) *std::ranges::find(rows, 12000) = 12001;  // of the second one
    level.rows = rows;
    part.planes = &level;
    const auto m = std::make_shared<Model>(std::vector{part}, whole->vocabulary(), Model::Source(), whole);
    ASSERT_TRUE(open(m).ok());
    const auto scan = [&](double certainty, int64_t k) {
      for (int device = 0; device < 3; ++device)
        knobs(device).plane_searches = knobs(device).sign_searches = knobs(device).coarse_searches = 0;
      const Query query = this->query(*m);
      SearchRequest request{&query, k, nullptr, {}, {}, {}};
      request.certainty = certainty;
      ASSERT_TRUE(searchers(m)->open(0, {}).value()->search({&request, 1}).ok());
      const auto wanted = reference_relation(*m, query);
      EXPECT_EQ(difference(request.rows, std::span(wanted).first(static_cast<size_t>(k))), "");
      EXPECT_EQ(request.uncertain, certainty < 1);
    };
    for (int device = 0; device < 3; ++device)  // until its vectors are there
      for (int i = 0; i < 1000 && knobs(device).coarse_searches + knobs(device).plane_searches == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        scan(1, 10);
      }
    scan(1, 14);  // more than a third of 40
    for (int device = 0; device < 3; ++device) EXPECT_EQ(knobs(device).coarse_searches, 1) << device;
    for (const double certainty : {1.0, 1 - 1e-9}) {
      scan(certainty, 10);
      for (int device = 0; device < 3; ++device) {
        const bool has_lists = damage == Damage::kNone || (damage == Damage::kOfTwoDevices) == (device == 1);
        EXPECT_EQ(knobs(device).plane_searches, has_lists && certainty == 1) << device;
        EXPECT_EQ(knobs(device).sign_searches, has_lists && certainty < 1) << device;
        EXPECT_EQ(knobs(device).coarse_searches, !has_lists) << device;
      }
    }
    EXPECT_EQ(info(m).device_bytes, knobs(0).allocated + knobs(1).allocated + knobs(2).allocated);
    forget(m);
  }
}

// Signs for which there is no room leave the planes.
TEST_F(DeviceBackendTest, ScansPlanesWhereSignsDoNotFit) {
  make();
  constexpr int64_t kRows = 3000, kDims = 256;
  const ModelPtr m = in_lists(model(kRows, kDims, Rows::kGaussian), 40, random_, 12, true);
  const PlaneLevel& level = *m->parts().front().planes;
  const gpu::MemoryPlan plan = gpu::plan_memory(kRows, kDims);
  gpu::BlockLayout planes, signs;
  gpu::add_plane_arrays(planes, kRows, kDims, level, false);
  gpu::add_plane_arrays(signs, kRows, kDims, level, true);
  const int64_t before = plan.scan_bytes + plan.exact_bytes + plan.coarse_bytes;
  limit_ = before + signs.bytes() - 1;
  ASSERT_TRUE(open(m).ok());
  for (int i = 0; i < 1000 && knobs_.plane_searches == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    expect_right(m, 1);
  }
  EXPECT_GT(knobs_.plane_searches, 0);
  EXPECT_EQ(info(m).device_bytes, before + planes.bytes());
}

}  // namespace
}  // namespace glove::testing
