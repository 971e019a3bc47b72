// Live indexes on a fake device: segments that are added, hidden rows, limits, failures.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "gpu/residency/arena.h"
#include "search/candidates.h"
#include "tests/gpu/device_fixture.h"
#include "tests/gpu/shifted_segments.h"
#include "tests/model/parts.h"
#include "tests/share.h"

namespace glove::testing {
namespace {

class SegmentsTest : public DeviceBackendTest {
 protected:
  using Segments = std::vector<ModelPtr>;

  Segments segments(std::vector<int64_t> rows, int64_t dims) {
    Segments made;
    for (const int64_t count : rows) made.push_back(model(count, dims, kind_));
    return made;
  }

  // The segments one after another, with or without their vectors.
  static ModelPtr joined(const Segments& segments, bool with_vectors) {
    std::vector<ModelPart> parts;
    int64_t rows = 0;
    for (const ModelPtr& segment : segments) {
      ModelPart part = segment->parts().front();
      part.first_row = std::exchange(rows, rows + part.rows);
      if (!with_vectors) {
        part.vectors = {};
        part.norms_squared = {};
        std::erase_if(part.levels, [](const CodeLevel& level) { return level.bits != 8; });
      }
      parts.push_back(std::move(part));
    }
    Model::Source source;
    source.path = "a live index";
    return std::make_shared<const Model>(std::move(parts), Vocabulary(), std::move(source),
                                         std::make_shared<Segments>(segments));
  }

  // Expects the candidates to include the rows of the reference, with bounds that are not too low.
  static void expect_candidates(const SearchRequest& request, const Model& whole) {
    const std::vector<Neighbor> wanted = reference_relation(whole, *request.query);
    EXPECT_TRUE(std::ranges::is_sorted(request.rows, ranks_before));
    for (size_t i = 0; i < std::min(wanted.size(), static_cast<size_t>(request.k)); ++i) {
      if (wanted[i].similarity < request.query->least) break;
      const auto found =
          std::ranges::find_if(request.rows, [&](const Neighbor& row) { return row.id == wanted[i].id; });
      ASSERT_NE(found, request.rows.end()) << "rank " << i + 1;
      EXPECT_GE(found->similarity, wanted[i].similarity);
    }
    for (const Neighbor& row : request.rows) {
      EXPECT_FALSE(std::ranges::binary_search(request.query->excluded, row.id));
      EXPECT_TRUE(request.query->among == nullptr || request.query->among->admits(row.id));
    }
  }

  // Searches the segments for some queries at once, with these rows excluded.
  void expect_right_segments(const ModelPtr& live, const Segments& segments,
                             const std::vector<int32_t>& excluded, int64_t k,
                             const RowMaskPtr& among = nullptr) {
    const ModelPtr whole = joined(segments, true);
    std::vector<Query> queries;
    for (int i = 0; i < 3; ++i) {
      queries.push_back(query(*whole));
      queries.back().excluded = excluded;
      queries.back().among = among;
    }
    if (const auto wanted = reference_relation(*whole, queries[1]); !wanted.empty())
      queries[1].least = wanted[std::min(wanted.size(), static_cast<size_t>(k)) / 2].similarity;
    std::vector<SearchRequest> requests;
    for (const Query& each : queries) requests.push_back({&each, k, {}, {}, {}, {}});
    const auto searcher = searchers(live)->open(0, {});
    ASSERT_TRUE(searcher.ok()) << searcher.error().message;
    const Status status = searcher.value()->search(requests);
    ASSERT_TRUE(status.ok()) << status.error().message;
    for (const SearchRequest& request : requests) expect_candidates(request, *whole);
    SearchRequest single{&queries.front(), k, {}, {}, {}, {}};
    ASSERT_TRUE(searcher.value()->search({&single, 1}).ok());
    expect_candidates(single, *whole);
  }

  std::vector<int32_t> some_rows(int64_t of, size_t most) {
    std::vector<int32_t> rows;
    for (size_t i = 0; i < most; ++i)
      rows.push_back(static_cast<int32_t>(random_() % static_cast<uint64_t>(of)));
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
  }

  Rows kind_ = Rows::kGaussian;
};

TEST_F(SegmentsTest, OneScanReadsSegmentsOfAnySize) {
  make();
  for (const std::vector<int64_t>& rows :
       {std::vector<int64_t>{1}, {32, 1}, {31, 33, 1, 64}, {700, 3, 130}, {5, 5, 5, 5, 5}}) {
    const Segments made = segments(rows, 1 + static_cast<int64_t>(random_() % 30));
    const ModelPtr live = joined(made, false);
    const int64_t before = knobs_.searches;
    for (const int64_t k : {1, 10, 40}) expect_right_segments(live, made, {}, k);
    EXPECT_EQ(knobs_.searches - before, 3 * 4);  // one per query, and not one per segment
    forget(live);
    EXPECT_EQ(knobs_.allocated, 0);
  }
}

TEST_F(SegmentsTest, EveryKindOfRow) {
  make();
  for (const Rows kind : {Rows::kDuplicates, Rows::kNegative, Rows::kHuge, Rows::kTiny, Rows::kOneHot}) {
    kind_ = kind;
    const Segments made = segments({200, 50, 3}, 17);
    const ModelPtr live = joined(made, false);
    for (const int64_t k : {1, 10, 253}) expect_right_segments(live, made, {}, k);
    forget(live);
  }
}

TEST_F(SegmentsTest, ByOtherMetrics) {
  make();
  expect_shifted_segments(*engine_->backends().all().front(), random_, 300, 14);
}

TEST_F(SegmentsTest, HiddenRowsAreNoCandidates) {
  make();
  const Segments made = segments({400, 100, 7}, 12);
  const ModelPtr live = joined(made, false);
  expect_right_segments(live, made, {0, 399, 400, 506}, 10);
  EXPECT_EQ(knobs_.allocations, 1);  // few rows need no mask
  std::vector<int32_t> hidden = some_rows(507, 300);
  expect_right_segments(live, made, hidden, 10);
  EXPECT_EQ(knobs_.allocations, 2);
  for (int i = 0; i < 10; ++i) {  // a few more rows need no other mask
    const auto row = static_cast<int32_t>(random_() % 507);
    const auto place = std::ranges::lower_bound(hidden, row);
    if (place == hidden.end() || *place != row) hidden.insert(place, row);
  }
  expect_right_segments(live, made, hidden, 10);
  EXPECT_EQ(knobs_.allocations, 2);
  expect_right_segments(live, made, {}, 10);  // nor do few rows
  EXPECT_EQ(knobs_.allocations, 2);
  hidden.resize(100);
  expect_right_segments(live, made, hidden, 10);  // others do
  EXPECT_EQ(knobs_.allocations, 3);
  expect_right_segments(live, made, some_rows(507, 300), 10);
  std::vector<int32_t> all(507);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i);
  expect_right_segments(live, made, all, 10);
  forget(live);
  EXPECT_EQ(knobs_.allocated, 0);
  const Segments large = segments({2100, 900, 3000}, 4);  // the mask takes several pieces
  const ModelPtr large_live = joined(large, false);
  for (const size_t most : {40, 2000}) expect_right_segments(large_live, large, some_rows(6000, most), 10);
}

TEST_F(SegmentsTest, OnlyRowsOfTheMask) {
  make();
  Segments made = segments({800, 100, 40, 257}, 8);
  ModelPtr live = joined(made, false);
  for (int i = 0; i < (test::kShare == 1 ? 30 : 10); ++i) {
    if (i % 10 == 9) {  // beside the tiles of a segment that is gone
      const ModelPtr former = live;
      made.erase(made.begin() + 1);
      made.push_back(model(70, 8, Rows::kGaussian));
      live = joined(made, false);
      ASSERT_TRUE(open(live).ok());
      forget(former);
    }
    const RowMaskPtr among = random_mask(random_, *live);
    for (const size_t hidden : {0, 20, 300})
      for (const int64_t k : {1, 10})
        expect_right_segments(live, made, some_rows(live->words(), hidden), k, among);
    expect_right_segments(live, made, {}, 10);
  }
  forget(live);
  EXPECT_EQ(knobs_.allocated, 0);
}

TEST_F(SegmentsTest, RequestsThatExcludeDifferentRows) {
  make();
  const Segments made = segments({300, 80}, 9);
  const ModelPtr whole = joined(made, true);
  const ModelPtr live = joined(made, false);
  std::vector<Query> queries;
  for (const size_t most : {0, 5, 200, 200, 0, 60}) {
    queries.push_back(query(*whole));
    queries.back().excluded = some_rows(380, most);
  }
  std::vector<SearchRequest> requests;
  for (const Query& each : queries) requests.push_back({&each, 10, {}, {}, {}, {}});
  ASSERT_TRUE(searchers(live)->open(0, {}).value()->search(requests).ok());
  for (const SearchRequest& request : requests) expect_candidates(request, *whole);
}

// As after a sync: the device gets the new segment only, and the old index can still be searched.
TEST_F(SegmentsTest, AddsTheSegmentOfASync) {
  make();
  Segments made = segments({500, 60}, 10);
  std::vector<ModelPtr> lives = {joined(made, false)};
  std::vector<Segments> states = {made};
  ASSERT_TRUE(open(lives.back()).ok());
  const int64_t allocated = knobs_.allocated;
  for (int i = 0; i < 10; ++i) {
    made.push_back(model(1 + static_cast<int64_t>(random_() % 50), 10, Rows::kGaussian));
    states.push_back(made);
    lives.push_back(joined(made, false));
    ASSERT_TRUE(open(lives.back()).ok());
  }
  EXPECT_EQ(knobs_.allocations, 1);
  EXPECT_EQ(knobs_.allocated, allocated);
  for (size_t i = 0; i < lives.size(); ++i) expect_right_segments(lives[i], states[i], {}, 10);
  for (const ModelPtr& live : lives) forget(live);
  EXPECT_EQ(knobs_.allocated, 0);
}

// As after a sync that joins segments: what was joined is hidden, until it is too much.
TEST_F(SegmentsTest, LeavesSegmentsBehindThatWereJoined) {
  make();
  Segments made = segments({800, 100, 40}, 8);
  const ModelPtr first = joined(made, false);
  ASSERT_TRUE(open(first).ok());
  made.resize(1);
  made.push_back(model(150, 8, Rows::kGaussian));
  const ModelPtr second = joined(made, false);
  ASSERT_TRUE(open(second).ok());
  EXPECT_EQ(knobs_.allocations, 1);
  expect_right_segments(second, made, {}, 10);
  expect_right_segments(second, made, some_rows(950, 20), 10);
  expect_right_segments(second, made, some_rows(950, 400), 10);
  forget(first);
  expect_right_segments(second, made, {}, 10);
  EXPECT_GT(knobs_.allocated, 0);
  const int uploads = knobs_.allocations;
  const Segments others = segments({300, 30}, 8);  // as after a merge
  const ModelPtr third = joined(others, false);
  ASSERT_TRUE(open(third).ok());
  EXPECT_EQ(knobs_.allocations, uploads + 1);
  forget(second);
  expect_right_segments(third, others, {}, 10);
  forget(third);
  EXPECT_EQ(knobs_.allocated, 0);
}

// The order of the segments in the index need not be that on the device.
TEST_F(SegmentsTest, SegmentsInAnotherOrder) {
  make();
  const Segments made = segments({300, 200, 100}, 11);
  const ModelPtr first = joined(made, false);
  ASSERT_TRUE(open(first).ok());
  const Segments turned = {made[2], made[0], made[1]};
  const ModelPtr second = joined(turned, false);
  expect_right_segments(second, turned, some_rows(600, 10), 10);
  expect_right_segments(second, turned, some_rows(600, 200), 10);
  EXPECT_EQ(knobs_.allocations, 2);  // one of them a mask
}

TEST_F(SegmentsTest, ManyRandomStates) {
  make();
  Segments made = segments({100}, 6);
  ModelPtr live = joined(made, false);
  ASSERT_TRUE(open(live).ok());
  for (int step = 0; step < 60; ++step) {
    if (random_() % 3 == 0 && made.size() > 1)
      made.erase(made.begin() + static_cast<std::ptrdiff_t>(random_() % made.size()));
    made.push_back(model(1 + static_cast<int64_t>(random_() % 200), 6, Rows::kMixed));
    const ModelPtr former = std::exchange(live, joined(made, false));
    expect_right_segments(live, made, some_rows(live->words(), random_() % 2 == 0 ? 5 : 100), 10);
    forget(former);
  }
  forget(live);
  EXPECT_EQ(knobs_.allocated, 0);
}

TEST_F(SegmentsTest, MemoryIsLimitedAndCounted) {
  make();
  const Segments made = segments({1000, 10}, 40);
  const ModelPtr live = joined(made, false);
  limit_ = 10'000;
  const Status status = open(live);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemory);
  EXPECT_NE(status.error().message.find("needs at least 1 MB of device memory, and 1 MB of fake device"),
            std::string::npos)
      << status.error().message;
  EXPECT_EQ(knobs_.allocated, 0);
  limit_ = 100'000;  // there is room for the segments, but not for more of them
  ASSERT_TRUE(open(live).ok());
  EXPECT_EQ(knobs_.allocated, gpu::plan_memory(gpu::tiles_of_parts(*live) * kTileRows, 40).scan_bytes);
  EXPECT_EQ(info(live).state, "resident");
  EXPECT_EQ(info(live).device_bytes, knobs_.allocated);
  expect_right_segments(live, made, {}, 10);
  limit_ = 51'000;  // no mask fits
  const Query asked = [&] {
    Query made_query = query(*joined(made, true));
    made_query.excluded = some_rows(1010, 500);
    return made_query;
  }();
  EXPECT_EQ(search(live, asked, 10).error().code, ErrorCode::kOutOfMemory);
  limit_ = 0;
  ASSERT_TRUE(search(live, asked, 10).ok());
  EXPECT_EQ(info(live).device_bytes, knobs_.allocated);
  forget(live);
  EXPECT_EQ(knobs_.allocated, 0);
}

TEST_F(SegmentsTest, FailuresLeaveNothingBehind) {
  make();
  const Segments made = segments({300, 20}, 30);
  const ModelPtr live = joined(made, false);
  EXPECT_EQ(searchers(live)->open(0, [] { return true; }).error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(knobs_.allocated, 0);
  ASSERT_TRUE(open(live).ok());
  Segments more = made;
  more.push_back(model(50, 30, Rows::kGaussian));
  const ModelPtr next = joined(more, false);
  EXPECT_EQ(searchers(next)->open(0, [] { return true; }).error().code, ErrorCode::kInterrupted);
  expect_right_segments(live, made, {}, 10);
  expect_right_segments(next, more, {}, 10);
  const Query asked = query(*joined(made, true));
  Query masked = asked;
  masked.excluded = some_rows(320, 200);
  const int64_t allocated = knobs_.allocated;
  EXPECT_EQ(search(live, masked, 10, [] { return true; }).error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(knobs_.allocated, allocated);
  knobs_.searches_left = 0;
  EXPECT_EQ(search(live, asked, 10).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(search(next, asked, 10).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(info(live).state, "failed: fake: lost");
  forget(live);
  forget(next);
  EXPECT_EQ(knobs_.allocated, 0);
}

TEST_F(SegmentsTest, ASecondDeviceServesIfTheFirstCannot) {
  more_knobs_.emplace_back();
  knobs_.absent = true;
  make();
  const Segments made = segments({100, 50}, 5);
  const ModelPtr live = joined(made, false);
  expect_right_segments(live, made, {}, 10);
  EXPECT_EQ(knobs_.searches, 0);
  EXPECT_GT(more_knobs_.front().searches, 0);
}

TEST_F(SegmentsTest, ThreadsSearchWhileSegmentsAreAdded) {
  make();
  Segments made = segments({200, 20}, 7);
  const ModelPtr live = joined(made, false);
  ASSERT_TRUE(open(live).ok());
  const ModelPtr whole = joined(made, true);
  std::vector<Query> queries;
  for (int i = 0; i < 3; ++i) {
    queries.push_back(query(*whole));
    queries.back().excluded = some_rows(220, static_cast<size_t>(50 * i));
  }
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (const Query& each : queries)
    threads.emplace_back([&] {
      const ScopedFloatEnvironment environment;
      while (!done) {
        SearchRequest request{&each, 10, {}, {}, {}, {}};
        ASSERT_TRUE(searchers(live)->open(0, {}).value()->search({&request, 1}).ok());
        expect_candidates(request, *whole);
      }
    });
  for (int i = 0; i < 5; ++i) {
    made.push_back(model(30, 7, Rows::kGaussian));
    expect_right_segments(joined(made, false), made, {}, 10);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace glove::testing
