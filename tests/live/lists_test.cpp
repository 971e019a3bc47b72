// Segments in lists: their planes keep what docs/exactness.md promises, searches by them find the same rows,
// and damaged ones are errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/float_environment.h"
#include "cpu/cpu_backend.h"
#include "lists/half.h"
#include "lists/planes.h"
#include "live/list_maker.h"
#include "live/segment_planes.h"
#include "model/exact_dot.h"
#include "search/query.h"
#include "tests/share.h"

namespace glove::live {
namespace {

uint64_t fresh_seed() {
  const char* const given = std::getenv("GLOVE_TEST_SEED");
  if (given != nullptr) return std::strtoull(given, nullptr, 10);
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// A row's numbers of one plane, with its code, as the segment has them.
struct PlaneRow {
  double centroid, code, distance;
  std::vector<int> codes;
};

class ListsTest : public ::testing::Test {
 protected:
  const uint64_t seed_ = fresh_seed();
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, "GLOVE_TEST_SEED=" + std::to_string(seed_)};
  const ScopedFloatEnvironment float_environment_;
  std::mt19937_64 random_{seed_};
  const std::unique_ptr<Backend> cpu_ = make_cpu_backend();
  int64_t rows_ = 0, dims_ = 0;
  std::vector<float> vectors_;
  SegmentPtr segment_;  // of the vectors

  const float* vector(int64_t row) const { return vectors_.data() + row * dims_; }

  // Rows around `groups` directions, and some that are one-hot, equal, tiny or huge.
  void make_rows(int64_t rows, int64_t dims, int64_t groups) {
    rows_ = rows;
    dims_ = dims;
    std::normal_distribution<float> normal;
    std::vector<float> centers(static_cast<size_t>(groups * dims));
    for (float& x : centers) x = normal(random_);
    vectors_.assign(static_cast<size_t>(rows * dims), 0);
    const float spread = std::array{0.0f, 0.1f, 0.5f, 2.0f}[random_() % 4];
    for (int64_t row = 0; row < rows; ++row) {
      float* const vector = vectors_.data() + row * dims;
      const float* const center = centers.data() + static_cast<int64_t>(random_() % groups) * dims;
      for (int64_t i = 0; i < dims; ++i) vector[i] = center[i] + spread * normal(random_);
      const auto kind = random_() % 20;
      if (kind == 0) std::fill_n(vector, dims, 0.0f);
      if (kind == 0) vector[random_() % static_cast<uint64_t>(dims)] = -1;
      if (kind == 1 || kind == 2)
        for (int64_t i = 0; i < dims; ++i) vector[i] *= kind == 1 ? 1e-18f : 1e17f;
      if (kind == 3 && row > 0) std::copy_n(vectors_.data(), dims, vector);
    }
    SegmentBuilder builder(dims, rows);
    for (int64_t row = 0; row < rows; ++row)
      builder.add(2 * row, {vector(row), static_cast<size_t>(dims)},
                  exact_dot(vector(row), vector(row), dims));
    segment_ = Segment::parse(builder.finish(), rows, dims, "s").value();
  }

  // The segment in `count` lists.
  SegmentPtr listed(int64_t count) {
    const ListsPtr lists = train_lists(*cpu_->analysis(), *segment_, count, {}).value();
    return in_lists(*cpu_->analysis(), *segment_, lists, {}).value();
  }

  PlaneRow plane_row(const PlaneLevel& level, int64_t position, bool both) const {
    PlaneRow row;
    for (int64_t j = 0; j < dims_; ++j) {
      const PlanePlace place = plane_place(j, dims_);
      const int high =
          place.bits(level.plane1[static_cast<size_t>(plane1_index(position, place.byte, dims_))]);
      const int low =
          place.bits(level.plane2[static_cast<size_t>(position * plane2_row_bytes(dims_) + place.byte)]);
      row.codes.push_back(both ? 2 * (4 * high + low) - 15 : 2 * high - 3);
    }
    const uint16_t* const first =
        level.bounds1.data() + position / kTileRows * kPlaneBounds * kTileRows + position % kTileRows;
    const PlaneBound second = plane2_bound(level.plane2.data() + position * plane2_row_bytes(dims_), dims_);
    row.centroid = half_value(both ? second.centroid : first[0]);
    row.code = half_value(both ? second.code : first[kTileRows]);
    row.distance = half_value(both ? second.distance : first[2 * kTileRows]);
    return row;
  }

  // Expects <u, b> >= 1 and |b - <u, b> u| <= distance of the row's own unit vector u.
  void expect_promise(const PlaneLevel& level, int64_t position, int64_t list, bool both) const {
    const PlaneRow row = plane_row(level, position, both);
    if (std::isinf(row.distance)) return;
    const float* const x = vector(level.rows[static_cast<size_t>(position)]);
    const float* const centroid = level.centroids.data() + list * dims_;
    const double norm = std::sqrt(exact_dot(x, x, dims_));
    double along = 0, off = 0;
    std::vector<double> b;
    for (int64_t j = 0; j < dims_; ++j) {
      b.push_back(row.centroid * centroid[j] + row.code * row.codes[static_cast<size_t>(j)]);
      along += x[j] / norm * b.back();
    }
    for (int64_t j = 0; j < dims_; ++j) off += std::pow(b[static_cast<size_t>(j)] - along * (x[j] / norm), 2);
    EXPECT_GE(along, 1) << position;
    EXPECT_LE(std::sqrt(off), row.distance) << position;
  }

  // The k best rows for a query, best first.
  std::vector<int32_t> best_rows(const Query& query, int64_t k) const {
    std::vector<Neighbor> rows;
    for (int64_t row = 0; row < rows_; ++row)
      if (!std::binary_search(query.excluded.begin(), query.excluded.end(), static_cast<int32_t>(row)))
        rows.push_back(
            {row, cosine_from_dots(exact_dot(query.vector.data(), vector(row), dims_), query.norm_squared,
                                   exact_dot(vector(row), vector(row), dims_))});
    std::sort(rows.begin(), rows.end(), ranks_before);
    std::vector<int32_t> ids;
    for (size_t i = 0; i < rows.size() && i < static_cast<size_t>(k); ++i)
      ids.push_back(static_cast<int32_t>(rows[i].id));
    return ids;
  }
};

// Searches segments as one model without vectors, by the codes that the backend is told to read first.
std::vector<Neighbor> candidates(const std::vector<SegmentPtr>& segments, const Query& query, int64_t k,
                                 FirstLevel level, int threads) {
  std::vector<ModelPart> parts;
  for (const SegmentPtr& segment : segments) {
    ModelPart part;
    part.first_row = parts.empty() ? 0 : parts.back().first_row + parts.back().rows;
    part.rows = segment->rows();
    part.dims = segment->dims();
    part.levels = {segment->level()};
    if (segment->planes() != nullptr) part.planes = &segment->planes()->level();
    parts.push_back(part);
  }
  const auto model = std::make_shared<const Model>(parts, Vocabulary(), Model::Source(), nullptr);
  const auto backend = make_cpu_backend({.target = "", .threads = threads, .first_level = level});
  const auto searcher = backend->open(model, {}).value();
  SearchRequest request;
  request.query = &query;
  request.k = k;
  EXPECT_TRUE(searcher->search({&request, 1}).ok());
  EXPECT_TRUE(request.status.ok());
  return request.rows;
}

TEST_F(ListsTest, PlanesKeepTheirPromiseToTheVectors) {
  int64_t finite = 0, all = 0;
  for (const int64_t dims : {1, 2, 3, 16, 17, 100, 300})
    for (const int64_t rows : {8, 33, 400}) {
      make_rows(rows, dims, 1 + static_cast<int64_t>(random_() % 8));
      const SegmentPtr segment = listed(1 + static_cast<int64_t>(random_() % (rows / 8)));
      const PlaneLevel& level = segment->planes()->level();
      for (int64_t list = 0; list < level.lists(); ++list)
        for (int64_t position = level.offsets[static_cast<size_t>(list)];
             position < level.offsets[static_cast<size_t>(list) + 1]; ++position) {
          expect_promise(level, position, list, false);
          expect_promise(level, position, list, true);
          finite += std::isinf(plane_row(level, position, true).distance) ? 0 : 1;
          ++all;
        }
      EXPECT_TRUE(has_planes_of_codes(*segment, {}).value());
    }
  EXPECT_GT(finite, all / 2);
}

TEST_F(ListsTest, SearchesFindTheSameRows) {
  std::normal_distribution<float> normal;
  for (const int64_t dims : {1, 3, 17, 100})
    for (const int64_t rows : {40, 1000, test::kShare == 1 ? 6000 : 1500}) {
      make_rows(rows, dims, 1 + static_cast<int64_t>(random_() % 20));
      const SegmentPtr segment = listed(1 + static_cast<int64_t>(random_() % (rows / 8)));
      for (int i = 0; i < (test::kShare == 1 ? 12 : 4); ++i) {
        std::vector<float> wanted(vector(0), vector(0) + dims);
        if (i % 3 != 0) std::copy_n(vector(static_cast<int64_t>(random_() % rows)), dims, wanted.begin());
        if (i % 3 == 2)
          for (float& x : wanted) x = normal(random_);
        std::vector<int32_t> hidden;
        for (int32_t row = 0; row < rows; ++row)
          if (i % 2 == 1 && random_() % 5 == 0) hidden.push_back(row);
        const auto query = make_query(wanted, hidden);
        if (!query) continue;
        const int64_t k = std::array{1, 2, 10, 100}[i % 4];
        for (const int threads : {1, 3}) {
          const std::vector<Neighbor> found =
              candidates({segment}, *query, k, FirstLevel::kCoarsest, threads);
          EXPECT_TRUE(std::is_sorted(found.begin(), found.end(), ranks_before));
          for (const int32_t row : best_rows(*query, k)) {
            const auto is_row = [row](const Neighbor& one) { return one.id == row; };
            EXPECT_EQ(std::count_if(found.begin(), found.end(), is_row), 1)
                << row << " of " << rows << " x " << dims << ", k = " << k;
          }
        }
      }
    }
}

// What index_memory limits counts segments, their planes and the lists, each while it lives.
TEST_F(ListsTest, AreCountedWhileTheyAreInMemory) {
  make_rows(600, 60, 5);
  const int64_t before = LoadedBytes::all();
  SegmentPtr segment = listed(10);
  const ListsPtr lists = segment->planes()->lists();
  const int64_t of_lists = std::ssize(lists->bytes());
  EXPECT_GT(LoadedBytes::all(), before + std::ssize(segment->bytes()) + of_lists) << "planes";
  EXPECT_LT(LoadedBytes::all(), before + 2 * std::ssize(segment->bytes()) + of_lists);
  segment = nullptr;
  EXPECT_EQ(LoadedBytes::all(), before + of_lists);
}

// A search reads the planes of one segment, and 8 bits of another.
TEST_F(ListsTest, SegmentsWithAndWithoutListsAreSearchedTogether) {
  constexpr int64_t kRows = 3000, kDims = 24;
  make_rows(300, kDims, 3);
  const SegmentPtr small = segment_;
  const std::vector<float> few = vectors_;
  make_rows(kRows, kDims, 10);
  const SegmentPtr large = listed(20);
  vectors_.insert(vectors_.end(), few.begin(), few.end());
  rows_ += 300;
  for (int i = 0; i < 40; ++i) {
    const auto row = static_cast<int64_t>(random_() % static_cast<uint64_t>(rows_));
    const auto query = make_query({vector(row), vector(row) + kDims});
    const bool is_first = i % 2 == 0;
    const auto order = is_first ? std::vector{large, small} : std::vector{small, large};
    const std::vector<Neighbor> found = candidates(order, *query, 10, FirstLevel::kCoarsest, 1 + i % 3);
    EXPECT_LT(std::ssize(found), rows_);
    for (const int32_t best : best_rows(*query, 10)) {
      const int64_t id = is_first ? best : best < kRows ? best + 300 : best - kRows;
      const auto is_row = [id](const Neighbor& one) { return one.id == id; };
      EXPECT_EQ(std::count_if(found.begin(), found.end(), is_row), 1) << id << ", " << is_first;
    }
  }
}

TEST_F(ListsTest, BytesAreReadAsTheyWereWritten) {
  make_rows(500, 17, 5);
  const SegmentPtr segment = listed(9);
  const ListsPtr lists = segment->planes()->lists();
  const HugePageBuffer<char> bytes(segment->bytes().begin(), segment->bytes().end());
  const HugePageBuffer<char> list_bytes(lists->bytes().begin(), lists->bytes().end());
  const ListsPtr again = Lists::parse(list_bytes, 17, "l").value();
  EXPECT_EQ(again->checksum(), lists->checksum());
  const SegmentPtr same = Segment::parse(bytes, 500, 17, "s", again).value();
  EXPECT_EQ(same->checksum(), segment->checksum());
  EXPECT_TRUE(has_planes_of_codes(*same, {}).value());
  EXPECT_EQ(listed(9)->checksum(), segment->checksum()) << "lists are not the same each time";
  EXPECT_FALSE(Segment::parse(bytes, 500, 17, "s").ok());
  EXPECT_FALSE(Segment::parse({bytes.begin(), bytes.end() - 1}, 500, 17, "s", again).ok());
  EXPECT_FALSE(Lists::parse(list_bytes, 16, "l").ok());
  EXPECT_FALSE(Lists::parse({list_bytes.begin(), list_bytes.begin() + 3}, 17, "l").ok());
  for (const int64_t wrong : {int64_t{0}, int64_t{1} << 62, INT64_MIN}) {
    HugePageBuffer<char> changed = list_bytes;
    std::memcpy(changed.data(), &wrong, sizeof(wrong));
    EXPECT_FALSE(Lists::parse(changed, 17, "l").ok()) << wrong;
  }
  for (const float wrong : {0.0f, std::nanf(""), INFINITY}) {
    HugePageBuffer<char> changed = list_bytes;
    for (size_t i = 0; i < 17; ++i)
      std::memcpy(changed.data() + 16 + i * sizeof(float), &wrong, sizeof(wrong));
    EXPECT_FALSE(Lists::parse(changed, 17, "l").ok()) << wrong;
  }
}

// Only what the file's owner can do is left: bounds that are numbers, but not those of the codes. These are
// found by has_planes_of_codes(). Nothing crashes.
TEST_F(ListsTest, DamagedPlanesAreErrorsOrOtherPlanes) {
  make_rows(200, 20, 4);
  const SegmentPtr segment = listed(6);
  const ListsPtr lists = segment->planes()->lists();
  const auto query = make_query({vector(0), vector(0) + 20});
  const auto begin = static_cast<size_t>(segment_bytes(200, 20));
  int errors = 0, others = 0;
  for (int i = 0; i < 2000 / test::kShare; ++i) {
    HugePageBuffer<char> bytes(segment->bytes().begin(), segment->bytes().end());
    const size_t at = begin + random_() % (bytes.size() - begin);
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + random_() % 255));
    const auto damaged = Segment::parse(std::move(bytes), 200, 20, "s", lists);
    errors += damaged.ok() ? 0 : 1;
    if (!damaged.ok()) continue;
    ++others;
    EXPECT_NE(damaged.value()->checksum(), segment->checksum());
    EXPECT_FALSE(has_planes_of_codes(*damaged.value(), {}).value()) << at - begin;
    candidates({damaged.value()}, *query, 5, FirstLevel::kCoarsest, 1);
  }
  EXPECT_GT(errors, 0);
  EXPECT_GT(others, 0);
}

TEST_F(ListsTest, TrainingCanBeInterrupted) {
  make_rows(4000, 64, 30);
  const InterruptCheck at_once = [] { return true; };
  EXPECT_EQ(train_lists(*cpu_->analysis(), *segment_, 100, at_once).status().error().code,
            ErrorCode::kInterrupted);
  const ListsPtr lists = train_lists(*cpu_->analysis(), *segment_, 100, {}).value();
  EXPECT_EQ(in_lists(*cpu_->analysis(), *segment_, lists, at_once).status().error().code,
            ErrorCode::kInterrupted);
}

// Lists that have from a half to twice the mean number of rows stay as they are, in their order.
TEST_F(ListsTest, AdaptingLeavesListsOfAboutTheMeanSize) {
  Analysis& analysis = *cpu_->analysis();
  for (const int64_t count : {1, 6, 30}) {
    make_rows(900, 12, 5);
    const ListsPtr lists = train_lists(analysis, *segment_, count, {}).value();
    make_rows(700, 12, 3);  // other rows
    const SegmentPtr before = in_lists(analysis, *segment_, lists, {}).value();
    const std::span<const int64_t> offsets = before->planes()->level().offsets;
    std::vector<float> kept;
    for (int64_t i = 0; i < lists->count(); ++i) {
      const int64_t size =
          (offsets[static_cast<size_t>(i) + 1] - offsets[static_cast<size_t>(i)]) * lists->count();
      if (size < 350 || size > 1400) continue;
      const auto centroid =
          lists->centroids().subspan(static_cast<size_t>(i * dims_), static_cast<size_t>(dims_));
      kept.insert(kept.end(), centroid.begin(), centroid.end());
    }
    const ListsPtr adapted = adapt_lists(analysis, *segment_, lists, {}).value();
    if (kept.size() == lists->centroids().size()) {
      EXPECT_EQ(adapted, lists);
      continue;
    }
    ASSERT_GE(adapted->centroids().size(), kept.size());
    EXPECT_TRUE(std::equal(kept.begin(), kept.end(), adapted->centroids().begin()));
    EXPECT_NEAR(static_cast<double>(adapted->count()), static_cast<double>(lists->count()),
                static_cast<double>(lists->count()));
    const ListsPtr again = adapt_lists(analysis, *segment_, lists, {}).value();
    EXPECT_TRUE(std::ranges::equal(again->bytes(), adapted->bytes()));
    const SegmentPtr after = in_lists(analysis, *segment_, adapted, {}).value();
    EXPECT_TRUE(has_planes_of_codes(*after, {}).value());
  }
}

}  // namespace
}  // namespace glove::live
