// Rows in lists, and their codes in two planes (lists/planes.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/float_environment.h"
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/wide_query.h"
#include "cpu/search/plane_parts.h"
#include "lists/calibration.h"
#include "lists/derived_level.h"
#include "lists/half.h"
#include "lists/planes.h"
#include "model/exact_dot.h"
#include "tests/cpu/plain_kernels.h"
#include "tests/cpu/test_support.h"

namespace glove::cpu {
namespace {

using test::Matrix;

TEST(Halves, AreRoundedAwayFromZero) {
  EXPECT_EQ(half_away_from_zero(0.0), 0);
  EXPECT_EQ(half_away_from_zero(1.0), 0x3C00);
  EXPECT_EQ(half_away_from_zero(-1.0), 0xBC00);
  EXPECT_EQ(half_away_from_zero(1e-30), 1);
  EXPECT_EQ(half_away_from_zero(65504.0), 0x7BFF);
  EXPECT_EQ(half_away_from_zero(65505.0), kHalfInfinity);
  EXPECT_EQ(half_value(kHalfInfinity), std::numeric_limits<float>::infinity());
  for (int bits = 0; bits <= 0x7BFF; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const double value = half_value(half);
    ASSERT_EQ(half_away_from_zero(value), half);
    ASSERT_EQ(half_away_from_zero(-value), bits == 0 ? 0x8000 : half | 0x8000);
    ASSERT_EQ(half_away_from_zero(value * (1 + 0x1p-40) + 0x1p-60),
              half == 0x7BFF ? kHalfInfinity : half + 1);
  }
}

// A row's vector as its codes and numbers say, [dims].
std::vector<long double> represented(const ModelPart& part, int64_t position, int64_t list, bool both) {
  const PlaneLevel& level = *part.planes;
  const auto tile = position / kTileRows * kPlaneBounds * kTileRows + position % kTileRows;
  const PlaneBound both_bound =
      plane2_bound(level.plane2.data() + position * plane2_row_bytes(part.dims), part.dims);
  const uint16_t bounds2[] = {both_bound.centroid, both_bound.code, both_bound.distance};
  const auto bound = [&](int64_t i) {
    return half_value(both ? bounds2[i] : level.bounds1[static_cast<size_t>(tile + i * kTileRows)]);
  };
  std::vector<long double> b;
  for (int64_t j = 0; j < part.dims; ++j) {
    const PlanePlace place = plane_place(j, part.dims);
    const int high =
        place.bits(level.plane1[static_cast<size_t>(plane1_index(position, place.byte, part.dims))]);
    const int low =
        place.bits(level.plane2[static_cast<size_t>(position * plane2_row_bytes(part.dims) + place.byte)]);
    const int code = both ? 2 * (4 * high + low) - 15 : 2 * high - 3;
    b.push_back(static_cast<long double>(bound(0)) *
                    level.centroids[static_cast<size_t>(list * part.dims + j)] +
                static_cast<long double>(bound(1)) * code);
  }
  b.push_back(bound(2));
  return b;
}

// What docs/format.md promises of each row.
void expect_promises(const ModelPart& part) {
  for (int64_t list = 0; list < part.planes->lists(); ++list)
    for (int64_t p = part.planes->offsets[static_cast<size_t>(list)];
         p < part.planes->offsets[static_cast<size_t>(list) + 1]; ++p)
      for (const bool both : {false, true}) {
        const int64_t row = part.planes->rows[static_cast<size_t>(p)];
        std::vector<long double> b = represented(part, p, list, both);
        const long double distance = b.back();
        b.pop_back();
        if (part.norm_squared(row) == 0) {
          ASSERT_EQ(distance, 0);
          continue;
        }
        ASSERT_GT(distance, 0);
        if (std::isinf(distance)) continue;
        const long double norm = std::sqrt(static_cast<long double>(part.norm_squared(row)));
        long double along = 0;
        for (int64_t j = 0; j < part.dims; ++j)
          along += part.vector(row)[j] / norm * b[static_cast<size_t>(j)];
        long double off = 0;
        for (int64_t j = 0; j < part.dims; ++j) {
          const long double rest = b[static_cast<size_t>(j)] - along * part.vector(row)[j] / norm;
          off += rest * rest;
        }
        ASSERT_GE(along, 1) << "row " << row;
        ASSERT_GE(distance, std::sqrt(off)) << "row " << row;
      }
}

TEST(Planes, EstimatesByPlaneOneAreThoseOfItsCodes) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(64);
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {1, 2, 3, 4, 5, 13, 15, 16, 17, 22, 31, 33, 100, 257}) {
    SCOPED_TRACE(dims);
    const ModelPtr model = test::with_planes(test::make_model(test::gaussian(70, dims, random)), 5, random);
    const ModelPart& part = model->parts().front();
    const Matrix query = test::gaussian(1, dims, random);
    for (int64_t list = 0; list < part.planes->lists(); ++list) {
      double centroid_product = 0;
      for (int64_t j = 0; j < dims; ++j)
        centroid_product +=
            double{part.planes->centroids[static_cast<size_t>(list * dims + j)]} * query.row(0)[j];
      for (int64_t p = part.planes->offsets[static_cast<size_t>(list)];
           p < part.planes->offsets[static_cast<size_t>(list) + 1]; ++p) {
        const std::vector<long double> b = represented(part, p, list, false);
        long double product = 0;
        for (int64_t j = 0; j < dims; ++j) product += b[static_cast<size_t>(j)] * query.row(0)[j];
        const Plane1Estimate estimate = Plane1Row(part, p).estimate(query.row(0), centroid_product);
        ASSERT_NEAR(estimate.product, static_cast<double>(product), 1e-9) << "position " << p;
        ASSERT_EQ(estimate.distance, static_cast<double>(b.back()));
      }
    }
  }
}

// A scan returns a row unless its similarity is below the threshold, with an upper bound that holds, on every
// target.
TEST(Planes, ScansKeepEveryRowAboveTheThreshold) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(60);
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {1, 2, 7, 15, 16, 17, 22, 31, 100, 257, 1030}) {
    Matrix matrix = test::clustered(1 + static_cast<int64_t>(random() % 200), dims, random);
    std::fill_n(matrix.row(matrix.rows / 2), dims, 0.0f);
    const int64_t lists = 1 + static_cast<int64_t>(random() % 20);
    const ModelPtr model = test::with_planes(test::make_model(matrix), lists, random);
    if (matrix.rows == 1) continue;
    const ModelPart& part = model->parts().front();
    ASSERT_NO_FATAL_FAILURE(expect_promises(part));
    const Query query = test::make_query(matrix.row(matrix.rows / 2 - 1 < 0 ? 0 : matrix.rows / 2 - 1), dims);
    if (!(query.norm_squared > 0)) continue;
    const SplitQuery split = split_query(query.vector, query.norm_squared);
    const std::vector<double> wide = widen(query.vector);
    for (const Kernels* kernels : usable_kernels()) {
      const ScanContext context = {*kernels, *model, 1};
      const PlaneParts parts(context, query, split);
      for (const float threshold :
           {-std::numeric_limits<float>::infinity(), -0.5f, 0.01f, 0.3f, 0.9f, 1.0f}) {
        std::vector<Survivor> survivors(static_cast<size_t>(tile_count(part.rows) * kTileRows));
        PlaneRows left;
        const PlaneCounts counts = kernels->planes->scan(part, 0, tile_count(part.rows), parts.query(0),
                                                         threshold, left, survivors.data());
        std::vector<const Survivor*> kept(static_cast<size_t>(part.rows));
        for (int64_t i = 0; i < counts.survivors; ++i)
          kept[static_cast<size_t>(survivors[static_cast<size_t>(i)].row)] =
              &survivors[static_cast<size_t>(i)];
        for (int64_t row = 0; row < part.rows; ++row) {
          const Survivor* const survivor = kept[static_cast<size_t>(row)];
          const double norm_squared = model->norm_squared(row);
          if (norm_squared == 0) {
            ASSERT_EQ(survivor, nullptr);
            continue;
          }
          const double similarity =
              cosine_from_dots(test::reference_dot(query.vector.data(), matrix.row(row), dims),
                               query.norm_squared, norm_squared);
          ASSERT_TRUE(survivor != nullptr || similarity < threshold)
              << kernels->name << ", " << dims << " dimensions, row " << row << ", threshold " << threshold;
          if (survivor != nullptr) {
            ASSERT_GE(survivor->upper, similarity) << kernels->name << ", row " << row;
          }
        }
      }
    }
  }
}

// Estimates are the products that the codes and numbers of plane one imply, and have the same bits on every
// target, wherever a scan begins.
TEST(Planes, EstimatesAreTheSameOnEveryTarget) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(65);
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {1, 3, 16, 17, 61, 100, 257, 1030}) {
    const Matrix matrix = test::clustered(40 + static_cast<int64_t>(random() % 300), dims, random);
    const ModelPtr model =
        test::with_planes(test::make_model(matrix), 1 + static_cast<int64_t>(random() % 20), random);
    const ModelPart& part = model->parts().front();
    const Query query = test::make_query(matrix.row(3), dims);
    if (!(query.norm_squared > 0)) continue;
    const SplitQuery split = split_query(query.vector, query.norm_squared);
    std::vector<float> products;
    for (int64_t list = 0; list < part.planes->lists(); ++list)
      products.push_back(static_cast<float>(
          test::reference_dot(query.vector.data(), part.planes->centroids.data() + list * dims, dims) /
          std::sqrt(query.norm_squared)));
    const int64_t tiles = tile_count(part.rows);
    for (const float limit : {-std::numeric_limits<float>::infinity(), 0.2f, 0.9f}) {
      const auto first = static_cast<int64_t>(random() % static_cast<uint64_t>(tiles));
      const PlaneTiles range = {first, tiles, -1, 0, tiles};
      std::vector<const Kernels*> all = {&kPlainKernels};
      all.insert(all.end(), usable_kernels().begin(), usable_kernels().end());
      PlaneEstimates expected;
      for (const Kernels* kernels : all) {
        PlaneCodes codes;
        kernels->planes->pack(split, dims, codes);
        PlaneEstimates kept;
        kernels->planes->estimate(part, range, plane_query(split, codes, products, dims), 0.25f, limit, kept);
        kept.positions.resize(kept.count);
        kept.estimates.resize(kept.count);
        for (float& estimate : kept.estimates) estimate = std::min(estimate, kNoEstimate);
        if (kernels == &kPlainKernels) expected = kept;
        ASSERT_EQ(kept.positions, expected.positions) << kernels->name << ", " << dims;
        ASSERT_EQ(kept.estimates, expected.estimates) << kernels->name << ", " << dims;
      }
      if (limit < 0) {
        ASSERT_EQ(expected.count, static_cast<size_t>((tiles - range.first) * kTileRows));
      }
      for (size_t i = 0; i < expected.count; ++i) {
        const int64_t position = expected.positions[i];
        if (position >= part.rows) continue;
        const auto& offsets = part.planes->offsets;
        const int64_t list = std::upper_bound(offsets.begin(), offsets.end(), position) - offsets.begin() - 1;
        std::vector<long double> b = represented(part, position, list, false);
        if (std::isinf(b.back())) continue;
        long double sum = 0.25L * b.back();
        for (int64_t j = 0; j < dims; ++j)
          sum += b[static_cast<size_t>(j)] * query.vector[static_cast<size_t>(j)] /
                 std::sqrt(static_cast<long double>(query.norm_squared));
        ASSERT_GE(expected.estimates[i], limit);
        ASSERT_NEAR(expected.estimates[i], static_cast<double>(sum), 0.06)
            << dims << ", position " << position;
      }
    }
  }
}

// The same for more pairs of a row and a query, with the fastest kernels: $GLOVE_PLANE_BOUNDS, or 10^6.
TEST(Planes, BoundsHoldForManyRowsAndQueries) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(64);
  const ScopedFloatEnvironment environment;
  const char* const text = std::getenv("GLOVE_PLANE_BOUNDS");
  const int64_t wanted = text == nullptr ? 1'000'000 : std::atoll(text);
  constexpr int64_t kDims = 20, kRows = 8192;
  std::uniform_real_distribution<float> uniform(0.05f, 0.95f);
  std::normal_distribution<float> normal;
  const Kernels& kernels = *usable_kernels().back();
  std::vector<Survivor> survivors(kRows);
  PlaneRows left;
  int64_t checked = 0, ruled_out = 0;
  while (checked < wanted) {
    const Matrix matrix = test::clustered(kRows, kDims, random);
    const ModelPtr model = test::with_planes(test::make_model(matrix), 100, random);
    const ModelPart& part = model->parts().front();
    for (int queries = 0; queries < 1000 && checked < wanted; ++queries, checked += kRows) {
      const float* const row = matrix.row(static_cast<int64_t>(random() % kRows));
      std::vector<float> vector(row, row + kDims);
      for (float& value : vector) value += 0.1f * uniform(random) * normal(random);
      const Query query = test::make_query(vector.data(), kDims);
      if (!(query.norm_squared > 0)) continue;
      const SplitQuery split = split_query(query.vector, query.norm_squared);
      const std::vector<double> wide = widen(query.vector);
      const PlaneParts parts({kernels, *model, 1}, query, split);
      const float threshold = uniform(random);
      const PlaneCounts counts =
          kernels.planes->scan(part, 0, tile_count(kRows), parts.query(0), threshold, left, survivors.data());
      std::vector<float> uppers(kRows, -1.0f);
      for (int64_t i = 0; i < counts.survivors; ++i)
        uppers[static_cast<size_t>(survivors[static_cast<size_t>(i)].row)] =
            survivors[static_cast<size_t>(i)].upper;
      ruled_out += kRows - counts.survivors;
      for (int64_t i = 0; i < kRows; ++i) {
        const double norm_squared = part.norm_squared(i);
        if (!(norm_squared > 0)) continue;
        const double similarity = cosine_from_dots(exact_dot(query.vector.data(), part.vector(i), kDims),
                                                   query.norm_squared, norm_squared);
        const float upper = uppers[static_cast<size_t>(i)];
        ASSERT_TRUE(upper < 0 ? similarity < threshold : similarity <= upper)
            << "row " << i << ": " << similarity << ", threshold " << threshold << ", bound " << upper;
      }
    }
  }
  EXPECT_GT(ruled_out, checked / 10);
}

// Codes that rule out nothing would pass the test above.
TEST(Planes, RuleOutMostRowsFarFromTheQuery) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(61);
  const ScopedFloatEnvironment environment;
  const Matrix matrix = test::clustered(4000, 64, random);
  const ModelPtr model = test::with_planes(test::make_model(matrix), 200, random);
  const ModelPart& part = model->parts().front();
  const Query query = test::make_query(matrix.row(7), 64);
  const SplitQuery split = split_query(query.vector, query.norm_squared);
  const std::vector<double> wide = widen(query.vector);
  for (const Kernels* kernels : usable_kernels()) {
    const ScanContext context = {*kernels, *model, 1};
    const PlaneParts parts(context, query, split);
    std::vector<Survivor> survivors(4000);
    PlaneRows left;
    const PlaneCounts counts =
        kernels->planes->scan(part, 0, tile_count(part.rows), parts.query(0), 0.9f, left, survivors.data());
    EXPECT_LT(counts.second_reads, 1500) << kernels->name;
    EXPECT_LT(counts.survivors, 600) << kernels->name;
  }
}

// A file that nobody has verified may have lists without rows, or rows that its bounds call zero.
TEST(Planes, SearchesAreExactIfDamageHidesRows) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(96);
  const Matrix matrix = test::clustered(2000, 64, random);
  const ModelPtr model = test::with_planes(test::make_model(matrix), 100, random);
  const Query query = test::row_query(matrix, 20);
  const auto backend = make_cpu_backend({.target = {}, .threads = 1, .first_level = FirstLevel::kCoarsest});
  const auto rows_of = [&](const PlaneLevel& level) {
    ModelPart part = model->parts().front();
    part.planes = &level;
    const auto damaged =
        std::make_shared<Model>(std::vector{part}, model->vocabulary(), model->source(), model);
    return test::backend_rows(*backend, damaged, {&query, 1}, 7).front();
  };
  const PlaneLevel& whole = *model->parts().front().planes;
  const auto expected = test::reference_rows(matrix, query, 7);
  EXPECT_EQ(rows_of(whole), expected);
  for (const int32_t lost : {-1, 5000}) {
    std::vector<int32_t> rows(whole.rows.begin(), whole.rows.end());
    std::fill(rows.begin() + 3, rows.end(), lost);
    PlaneLevel level = whole;
    level.rows = rows;
    EXPECT_EQ(rows_of(level), expected) << lost;
  }
  const std::vector<uint16_t> zeros(whole.bounds1.size());
  PlaneLevel level = whole;
  level.bounds1 = zeros;
  EXPECT_EQ(rows_of(level), expected);
}

// As of the rows of a live index that have changed.
TEST(Planes, TilesWithoutARowThatCountsAreNotRead) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(47);
  const Matrix matrix = test::clustered(4000, 32, random);
  const ModelPtr model = test::with_planes(test::make_model(matrix), 20, random);
  const ScopedFloatEnvironment environment;
  std::vector<Query> queries = {test::row_query(matrix, 0)};
  queries[0].excluded.clear();
  for (int32_t row = 0; row < 4000; ++row)
    if (row != 17 && row != 3999) queries[0].excluded.push_back(row);
  const auto backend = make_cpu_backend({.target = "", .threads = 2, .first_level = FirstLevel::kCoarsest});
  std::vector<SearchRequest> requests;
  ASSERT_TRUE(test::search(*backend, model, queries, 5, {}, requests).ok());
  EXPECT_LE(requests.front().cost.bytes_scanned,
            2 * kTileRows * (plane1_row_bytes(32) + plane2_row_bytes(32)));
  EXPECT_EQ(test::backend_rows(*backend, model, queries, 5)[0], test::reference_rows(matrix, queries[0], 5));
}

// A device uploads them in place of those that a file without lists has.
TEST(Planes, CodesOf4BitsAreDerivedBitForBit) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(62);
  for (const int64_t dims : {1, 7, 8, 9, 100}) {
    Matrix matrix = test::clustered(1100, dims, random);
    std::fill_n(matrix.row(5), dims, 0.0f);
    const ModelPtr model = test::make_model(matrix);
    const ModelPart& part = model->parts().front();
    const CodeLevel& stored = part.level(4);
    for (const int threads : {1, 3}) {
      const Result<DerivedLevel4> derived = derive_level4(part, threads, {});
      ASSERT_TRUE(derived.ok());
      const CodeLevel level = derived.value().level();
      EXPECT_TRUE(std::ranges::equal(level.codes, stored.codes)) << dims;
      EXPECT_TRUE(std::ranges::equal(level.scales, stored.scales)) << dims;
      EXPECT_TRUE(std::ranges::equal(level.residuals, stored.residuals)) << dims;
    }
    EXPECT_FALSE(derive_level4(part, 1, [] { return true; }).ok());
  }
}

TEST(Planes, CalibrationFindsThatPlanesPayForClustersOnly) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(63);
  const ScopedFloatEnvironment environment;
  const auto most_k = [&](const Matrix& matrix, int64_t lists) {
    const ModelPtr model = test::with_planes(test::make_model(matrix), lists, random);
    const Result<PlanesPay> one = planes_pay(model->parts().front(), 1, {});
    const Result<PlanesPay> three = planes_pay(model->parts().front(), 3, {});
    EXPECT_EQ(one.value().beside_4_bits, three.value().beside_4_bits);
    EXPECT_EQ(one.value().beside_8_bits, three.value().beside_8_bits);
    EXPECT_LE(one.value().beside_4_bits, one.value().beside_8_bits);
    EXPECT_FALSE(planes_pay(model->parts().front(), 1, [] { return true; }).ok());
    return one.value().beside_4_bits;
  };
  std::normal_distribution<float> normal;
  constexpr int64_t kRows = test::kShare == 1 ? 3000 : 1000;
  const Matrix noise = test::gaussian(kRows, 100, random);
  EXPECT_EQ(most_k(noise, kRows / 60), 0);
  Matrix pairs{kRows, 100, std::vector<float>(kRows * 100)};  // of equal rows but for little noise
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < 100; ++j) pairs.row(i)[j] = noise.row(i / 20)[j] + 0.3f * normal(random);
  EXPECT_GE(most_k(pairs, kRows / 10), 10);
}

}  // namespace
}  // namespace glove::cpu
