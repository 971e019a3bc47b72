// k-means: labels and centroids against the plain reference, on every instruction set and number of threads.
#include "analysis/kmeans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

#include "analysis/seeding.h"
#include "base/float_environment.h"
#include "cpu/analysis/assign.h"
#include "cpu/analysis/cpu_pass.h"
#include "tests/analysis/analyses.h"
#include "tests/analysis/reference.h"

namespace glove::test {
namespace {

constexpr Metric kMetrics[] = {Metric::kCosine, Metric::kEuclidean};

::testing::AssertionResult same(const NearestTwo& a, const NearestTwo& b) {
  const auto bits = [](double value) { return std::bit_cast<uint64_t>(value); };
  if (a.first == b.first && a.second == b.second && bits(a.first_score) == bits(b.first_score) &&
      bits(a.second_score) == bits(b.second_score))
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << a.first << " (" << a.first_score << "), " << a.second << " (" << a.second_score << ") and "
         << b.first << " (" << b.first_score << "), " << b.second << " (" << b.second_score << ")";
}

// A value of one of the kinds that make trouble somewhere.
float strange_value(uint64_t kind, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  switch (kind) {
    case 0:
      return normal(random);
    case 1:
      return static_cast<float>(static_cast<int>(random() % 5) - 2);
    case 2:
      return std::ldexp(normal(random), static_cast<int>(random() % 120) - 60);
    case 3:
      return std::bit_cast<float>(static_cast<uint32_t>(random() % 0x1000000));  // mostly denormal
    case 4:
      return 1.0f + static_cast<float>(random() % 4) * 0x1p-23f;
    default:
      return random() % 2 ? 1e30f : 1e-30f;
  }
}

Matrix strange_matrix(std::mt19937_64& random) {
  const auto rows = static_cast<int64_t>(1 + random() % 150);
  const auto dims = static_cast<int64_t>(1 + random() % (random() % 4 ? 20 : 150));
  Matrix matrix{rows, dims, std::vector<float>(static_cast<size_t>(rows * dims))};
  const bool mixed = random() % 4 == 0;
  const uint64_t kind = random() % 6;
  for (float& value : matrix.values) value = strange_value(mixed ? random() % 6 : kind, random);
  for (int64_t i = 1; i < rows; ++i) {
    const uint64_t fate = random() % 16;
    if (fate == 0) std::fill_n(matrix.row(i), dims, 0.0f);
    if (fate == 1) std::copy_n(matrix.row(static_cast<int64_t>(random()) & (i - 1)), dims, matrix.row(i));
  }
  return matrix;
}

// Some of the rows, so that ties and exact hits occur.
Centroids some_centroids(const Matrix& matrix, Metric metric, int64_t count, std::mt19937_64& random) {
  std::vector<int32_t> rows;
  for (int64_t i = 0; i < matrix.rows; ++i)
    if (metric == Metric::kEuclidean || reference_dot(matrix.row(i), matrix.row(i), matrix.dims) > 0)
      rows.push_back(static_cast<int32_t>(i));
  Centroids centroids(metric, rows.empty() ? 0 : count, matrix.dims);
  for (int64_t c = 0; c < centroids.count; ++c) centroids.set(c, matrix.row(rows[random() % rows.size()]));
  return centroids;
}

void expect_labels_of_reference(const Matrix& matrix, const Centroids& centroids,
                                const std::vector<int>& thread_counts) {
  const PointSet set = PointSet::first_rows(make_model(matrix), matrix.rows);
  const std::vector<NearestTwo> expected = reference_nearest_two(matrix, centroids);
  for (const cpu::Kernels* const kernels : cpu::usable_kernels())
    for (const int threads : thread_counts) {
      std::vector<int32_t> labels(expected.size());
      std::vector<NearestTwo> nearest(expected.size());
      ASSERT_TRUE(cpu::assign_rows(*kernels, threads, set.points(), centroids, labels, {}).ok());
      ASSERT_TRUE(cpu::nearest_two(*kernels, threads, set.points(), centroids, nearest, {}).ok());
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(labels[i], expected[i].first) << kernels->name << ", " << threads << " threads, row " << i;
        ASSERT_TRUE(same(nearest[i], expected[i]))
            << kernels->name << ", " << threads << " threads, row " << i;
      }
    }
}

TEST(Assign, StrangeRowsGetTheReferencesClusters) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  for (uint64_t round = 0; round < 600 / static_cast<uint64_t>(kShortShare); ++round) {
    std::mt19937_64 random = make_random(5000 + round);
    const Matrix matrix = strange_matrix(random);
    const Centroids centroids =
        some_centroids(matrix, kMetrics[round % 2], 1 + static_cast<int64_t>(random() % 30), random);
    if (centroids.count == 0) continue;
    SCOPED_TRACE("round " + std::to_string(round));
    expect_labels_of_reference(matrix, centroids, {1, 2});
    if (HasFatalFailure()) return;
  }
}

// More centroids than are scored together, near to each other.
TEST(Assign, ManyCentroidsAreCompared) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(6);
  const Matrix matrix = clustered(1000, 33, random);
  for (const Metric metric : kMetrics)
    expect_labels_of_reference(matrix, some_centroids(matrix, metric, 701, random), {1, 7});
}

// A row far longer than the centroids: scores in double lose the digits in which the distances differ.
TEST(Assign, LongRowsTieAsTheReferenceTies) {
  const ScopedFloatEnvironment environment;
  const Matrix matrix{4, 2, {1e12f, 0, 0, 1e12f, 3, 4, 1e-12f, 0}};
  Centroids centroids(Metric::kEuclidean, 3, 2);
  const float vectors[3][2] = {{1e-6f, 0}, {2e-6f, 0}, {0, 3e-6f}};
  for (int c = 0; c < 3; ++c) centroids.set(c, vectors[c]);
  expect_labels_of_reference(matrix, centroids, {1});
}

// Returns a random row with a direction for each of these clusters.
std::vector<int32_t> rows_to_move(const Points& points, size_t count, std::mt19937_64& random) {
  std::vector<int32_t> rows;
  while (rows.size() < count) {
    const auto row = static_cast<int32_t>(random() % static_cast<uint64_t>(points.rows));
    if (points.norms_squared[row] > 0) rows.push_back(row);
  }
  return rows;
}

// Runs a pass that leaves rows unread beside one that compares every row with every centroid.
void expect_steps_of_code_pass(const cpu::Kernels& kernels, int threads, const Points& points,
                               const Centroids& start, uint64_t seed) {
  SCOPED_TRACE(std::string(kernels.name) + ", " + std::to_string(threads) + " threads");
  std::mt19937_64 random(seed);
  const auto pass = cpu::make_bounded_pass(kernels, threads, points, start.metric, start.count);
  const auto plain = cpu::make_code_pass(kernels, threads, points, start.metric, start.count);
  ASSERT_TRUE(pass->start(start).ok());
  ASSERT_TRUE(plain->start(start).ok());
  Centroids got = start, expected = start;
  for (int iteration = 0; iteration < 9; ++iteration) {
    const auto step = pass->iterate({});
    const auto expected_step = plain->iterate({});
    ASSERT_TRUE(step.ok() && expected_step.ok());
    ASSERT_EQ(step.value().changes, expected_step.value().changes) << iteration;
    const std::vector<int32_t>& empty = step.value().empty_clusters;
    ASSERT_EQ(empty, expected_step.value().empty_clusters) << iteration;
    if (!empty.empty() && iteration % 3 == 0) {
      const std::vector<int32_t> rows = rows_to_move(points, empty.size(), random);
      ASSERT_TRUE(pass->refill(rows, empty, {}).ok());
      ASSERT_TRUE(plain->refill(rows, empty, {}).ok());
    }
    ASSERT_TRUE(pass->read_centroids(got).ok());
    ASSERT_TRUE(plain->read_centroids(expected).ok());
    ASSERT_EQ(std::memcmp(got.vectors.data(), expected.vectors.data(), got.vectors.size() * sizeof(float)), 0)
        << iteration;
  }
}

TEST(KMeansPass, RowsThatAreNotReadKeepTheirClusters) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  for (uint64_t round = 0; round < 240 / static_cast<uint64_t>(kShortShare); ++round) {
    std::mt19937_64 random = make_random(9000 + round);
    const Matrix matrix = round % 3 == 0 ? clustered(1 + static_cast<int64_t>(random() % 900),
                                                     1 + static_cast<int64_t>(random() % 60), random)
                                         : strange_matrix(random);
    const Centroids start =
        some_centroids(matrix, kMetrics[round / 3 % 2], 1 + static_cast<int64_t>(random() % 64), random);
    const PointSet set = PointSet::first_rows(make_model(matrix), matrix.rows);
    if (start.count == 0 || std::none_of(set.points().norms_squared, set.points().norms_squared + matrix.rows,
                                         [](double square) { return square > 0; }))
      continue;
    SCOPED_TRACE("round " + std::to_string(round));
    for (const cpu::Kernels* const kernels : cpu::usable_kernels())
      for (const int threads : {1, 2})
        expect_steps_of_code_pass(*kernels, threads, set.points(), start, 77 + round);
    if (HasFatalFailure()) return;
  }
}

TEST(FixedSums, AnyOrderGivesTheReferencesSums) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(7);
  const Matrix matrix = clustered(3000, 27, random);
  const PointSet set = PointSet::first_rows(make_model(matrix), matrix.rows);
  for (const Metric metric : kMetrics)
    for (const cpu::Kernels* const kernels : cpu::usable_kernels()) {
      std::vector<int32_t> from(3000, -1), to(3000), order(3000);
      std::iota(order.begin(), order.end(), 0);
      FixedSums sums(metric, 9, set.points());
      for (int round = 0; round < 3; ++round) {  // the second and third by difference
        std::vector<cpu::PartialSums> partial(7, cpu::PartialSums(sums));
        for (int32_t& label : to) label = static_cast<int32_t>(random() % 10) - 1;
        std::shuffle(order.begin(), order.end(), random);
        for (const int32_t row : order)
          partial[random() % 7].move(*kernels->many_clusters, sums, set.points(), row,
                                     from[static_cast<size_t>(row)], to[static_cast<size_t>(row)]);
        int64_t moves = 0;
        for (const cpu::PartialSums& part : partial) moves += part.add_to(sums);
        EXPECT_EQ(moves, 3000);
        const FixedSums expected = reference_sums(matrix, set.points(), metric, 9, to);
        ASSERT_EQ(sums.sizes, expected.sizes) << kernels->name;
        ASSERT_EQ(sums.sums, expected.sums) << kernels->name;
        from = to;
      }
    }
}

TEST(KMeans, FitsAreTheReferencesOnEveryVariant) {
  SCOPED_TRACE(seed_text());
  const std::vector<NamedAnalysis> analyses = all_analyses({1, 2, 7});
  std::mt19937_64 random = make_random(8);
  for (const Metric metric : kMetrics) {
    const Matrix matrix = clustered(2000, 20, random);
    const PointSet set = PointSet::first_rows(make_model(matrix), matrix.rows);
    KMeansOptions options;
    options.metric = metric;
    options.tolerance = 0;
    options.max_iterations = 30;
    for (int i = 0; i < 12; ++i) options.start_rows.push_back(i * 100);
    const ReferenceFit expected = [&] {
      const ScopedFloatEnvironment environment;
      return reference_kmeans(matrix, set.points(), metric, options.start_rows, 30, 0);
    }();
    ASSERT_FALSE(expected.lost_a_cluster);
    for (const NamedAnalysis& variant : analyses) {
      auto fit = cluster_rows(*variant.analysis, set.points(), 12, options, {});
      ASSERT_TRUE(fit.ok()) << fit.error().message;
      ASSERT_EQ(fit.value().iterations, expected.iterations);
      for (size_t i = 0; i < expected.rows.size(); ++i) {
        const NearestTwo& row = fit.value().rows[i];
        ASSERT_EQ(row.first_score, expected.rows[i].first_score) << variant.name << ", row " << i;
        ASSERT_EQ(row.second_score, expected.rows[i].second_score) << variant.name << ", row " << i;
        const float* const mine = fit.value().centroids.vector(row.first);
        ASSERT_TRUE(std::equal(mine, mine + 20, expected.centroids.vector(expected.rows[i].first)));
      }
      options.centroids_only = true;
      const auto only = cluster_rows(*variant.analysis, set.points(), 12, options, {});
      options.centroids_only = false;
      ASSERT_TRUE(only.ok());
      const auto sorted = [](const Centroids& centroids) {
        std::vector<std::vector<float>> vectors;
        for (int64_t i = 0; i < centroids.count; ++i)
          vectors.emplace_back(centroids.vector(i), centroids.vector(i) + centroids.dims);
        std::ranges::sort(vectors);
        return vectors;
      };
      ASSERT_EQ(sorted(only.value().centroids), sorted(fit.value().centroids)) << variant.name;
    }
  }
}

// Blobs that are far apart: every start that finds them all must end with them, and k-means++ does.
TEST(KMeans, FindsBlobs) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(9);
  const Matrix centres = gaussian(10, 16, random);
  Matrix matrix = gaussian(1000, 16, random);
  for (int64_t i = 0; i < 1000; ++i)
    for (int64_t j = 0; j < 16; ++j)
      matrix.row(i)[j] = 20 * centres.row(i % 10)[j] + 0.01f * matrix.row(i)[j];
  const PointSet set = PointSet::first_rows(make_model(matrix), 1000);
  for (const Metric metric : kMetrics) {
    KMeansOptions options;
    options.metric = metric;
    options.seed = random();
    options.runs = 3;
    const auto analysis = make_analysis();
    auto fit = cluster_rows(*analysis, set.points(), 10, options, {});
    ASSERT_TRUE(fit.ok());
    EXPECT_TRUE(fit.value().converged);
    ASSERT_EQ(fit.value().clusters.size(), 10u);
    for (const Clustering::Cluster& cluster : fit.value().clusters) {
      EXPECT_EQ(cluster.size, 100);
      EXPECT_GT(cluster.silhouette, 0.9);
    }
    for (int64_t i = 10; i < 1000; ++i)
      EXPECT_EQ(fit.value().rows[static_cast<size_t>(i)].first,
                fit.value().rows[static_cast<size_t>(i % 10)].first);
  }
}

TEST(KMeans, DescribesItsClusters) {
  // Two groups on a line, and one row of no direction.
  const Matrix matrix{6, 1, {1, 2, 10, 11, 12, 0}};
  const PointSet set = PointSet::first_rows(make_model(matrix), 6);
  KMeansOptions options;
  options.metric = Metric::kEuclidean;
  options.start_rows = {2, 0};
  const auto analysis = make_analysis();
  auto fit = cluster_rows(*analysis, set.points(), 2, options, {});
  ASSERT_TRUE(fit.ok()) << fit.error().message;
  const Clustering& result = fit.value();
  ASSERT_EQ(result.clusters.size(), 2u);
  EXPECT_EQ(result.clusters[0].size, 3);
  EXPECT_EQ(result.clusters[1].size, 3);
  EXPECT_EQ(result.clusters[0].nearest_row, 3);
  EXPECT_EQ(result.clusters[1].nearest_row, 0);
  EXPECT_NEAR(result.clusters[0].inertia, 2, 1e-6);
  EXPECT_NEAR(result.inertia(), 4, 1e-6);
  EXPECT_NEAR(result.distance(4), 1, 1e-6);
  EXPECT_NEAR(result.silhouette(4), 10.0 / 11, 1e-6);
  EXPECT_NEAR(result.similarity(4, 144), 1, 1e-12);
  EXPECT_TRUE(std::isnan(result.similarity(5, 0)));
}

TEST(KMeans, ZeroRowsHaveNoClusterUnderCosine) {
  const Matrix matrix{5, 2, {1, 0, 0, 0, 0, 1, 0, 0, 1, 0.1f}};
  const PointSet set = PointSet::first_rows(make_model(matrix), 5);
  const auto analysis = make_analysis();
  auto fit = cluster_rows(*analysis, set.points(), 2, {}, {});
  ASSERT_TRUE(fit.ok()) << fit.error().message;
  EXPECT_EQ(fit.value().rows[1].first, -1);
  EXPECT_EQ(fit.value().rows[3].first, -1);
  EXPECT_EQ(fit.value().rows[0].first, fit.value().rows[4].first);
  EXPECT_NE(fit.value().rows[0].first, fit.value().rows[2].first);
  EXPECT_EQ(fit.value().clusters[0].size + fit.value().clusters[1].size, 3);
}

// One cluster, as many as rows, one row, equal rows, opposite rows.
TEST(KMeans, SmallShapes) {
  SCOPED_TRACE(seed_text());
  const auto analysis = make_analysis();
  const auto clusters_of = [&](const Matrix& matrix, int64_t k, Metric metric) {
    KMeansOptions options;
    options.metric = metric;
    const PointSet set = PointSet::first_rows(make_model(matrix), matrix.rows);
    auto fit = cluster_rows(*analysis, set.points(), k, options, {});
    EXPECT_TRUE(fit.ok()) << fit.error().message;
    return fit.ok() ? static_cast<int64_t>(fit.value().clusters.size()) : -1;
  };
  const Matrix six{6, 2, {1, 0, 0, 1, -1, 0, 0, -1, 1, 1, -1, 2}};
  for (const Metric metric : kMetrics) {
    EXPECT_EQ(clusters_of(six, 1, metric), 1);
    EXPECT_EQ(clusters_of(six, 6, metric), 6);
    EXPECT_EQ(clusters_of({1, 3, {1, 2, 3}}, 1, metric), 1);
    EXPECT_EQ(clusters_of({4, 2, {1, 2, 1, 2, 1, 2, 1, 2}}, 3, metric), 1);
    EXPECT_EQ(clusters_of({2, 1, {1, -1}}, 1, metric), 1);
    EXPECT_EQ(clusters_of({4, 1, {1, -1, 2, -2}}, 2, metric), 2);
  }
  EXPECT_EQ(clusters_of({3, 2, {0, 0, 0, 0, 0, 0}}, 2, Metric::kEuclidean), 1);
  std::mt19937_64 random = make_random(10);
  EXPECT_EQ(clusters_of(gaussian(50, 4096, random), 50, Metric::kCosine), 50);
}

// A start with equal rows leaves a cluster without members, which must be given one.
TEST(KMeans, EmptyClustersAreFilled) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(11);
  const Matrix matrix = gaussian(300, 5, random);
  const PointSet set = PointSet::first_rows(make_model(matrix), 300);
  for (const Metric metric : kMetrics) {
    KMeansOptions options;
    options.metric = metric;
    options.start_rows = {7, 7, 7, 8};
    const auto analysis = make_analysis();
    auto fit = cluster_rows(*analysis, set.points(), 4, options, {});
    ASSERT_TRUE(fit.ok());
    EXPECT_EQ(fit.value().clusters.size(), 4u);
  }
}

TEST(KMeans, ChosenRowsAreARowsOwnModel) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(12);
  const Matrix matrix = clustered(500, 37, random);
  Matrix chosen{0, 37, {}};
  std::vector<int32_t> ids;
  for (int32_t id = 499; id >= 0; id -= 3) {
    ids.push_back(id);
    chosen.values.insert(chosen.values.end(), matrix.row(id), matrix.row(id) + 37);
    ++chosen.rows;
  }
  const PointSet by_id = PointSet::chosen_rows(make_model(matrix), ids);
  const PointSet whole = PointSet::first_rows(make_model(chosen), chosen.rows);
  EXPECT_EQ(by_id.row_id(1), 496);
  EXPECT_EQ(PointSet::chosen_rows(by_id.model(), ids, [] { return true; }).error().code,
            ErrorCode::kInterrupted);
  EXPECT_EQ(whole.row_id(1), 1);
  const auto analysis = make_analysis();
  auto a = cluster_rows(*analysis, by_id.points(), 7, {}, {});
  auto b = cluster_rows(*analysis, whole.points(), 7, {}, {});
  ASSERT_TRUE(a.ok() && b.ok());
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_TRUE(same(a.value().rows[i], b.value().rows[i]));
  EXPECT_EQ(a.value().centroids.vectors, b.value().centroids.vectors);
}

TEST(KMeans, RefusesWhatItCannotDo) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(13);
  Matrix matrix = gaussian(20, 3, random);
  std::fill_n(matrix.row(4), 3, 0.0f);
  const PointSet set = PointSet::first_rows(make_model(matrix), 20);
  const auto analysis = make_analysis();
  const auto message = [&](int64_t k, const KMeansOptions& options) {
    auto fit = cluster_rows(*analysis, set.points(), k, options, {});
    return fit.ok() ? "ok" : fit.error().message;
  };
  EXPECT_EQ(message(0, {}), "k must be at least 1, but is 0");
  EXPECT_EQ(message(20, {}), "k is 20, but there are only 19 rows that have a direction");
  EXPECT_EQ(message(20, {.metric = Metric::kEuclidean}), "ok");
  EXPECT_EQ(message(21, {.metric = Metric::kEuclidean}), "k is 21, but there are only 20 rows");
  EXPECT_EQ(message(2, {.runs = 0}), "n_init must be at least 1, but is 0");
  EXPECT_EQ(message(2, {.max_iterations = 0}), "max_iter must be at least 1, but is 0");
  EXPECT_EQ(message(2, {.tolerance = 2}), "tol must be a share of the rows, from 0 to 1, but is 2.000000");
  EXPECT_EQ(message(2, {.start_rows = {1}}), "k is 2, but the start names 1 row");
  const PointSet none = PointSet::first_rows(set.model(), 0);
  auto empty = cluster_rows(*analysis, none.points(), 3, {}, {});
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty.value().clusters.empty());
}

// One cluster per row: preparing the centroids can be stopped, as everything that follows.
TEST(KMeans, ManyCentroidsStopWhenInterrupted) {
  std::mt19937_64 random = make_random(16);
  const Matrix matrix = gaussian(500, 7, random);
  const PointSet set = PointSet::first_rows(make_model(matrix), matrix.rows);
  Centroids centroids(Metric::kEuclidean, matrix.rows, matrix.dims);
  for (int64_t row = 0; row < matrix.rows; ++row) centroids.set(row, matrix.row(row));
  const ScopedFloatEnvironment environment;
  for (const cpu::Kernels* const kernels : cpu::usable_kernels()) {
    std::vector<int32_t> labels(static_cast<size_t>(matrix.rows));
    int64_t asked = 0;
    const Status stopped =
        cpu::assign_rows(*kernels, 2, set.points(), centroids, labels, [&] { return ++asked > 0; });
    ASSERT_FALSE(stopped.ok()) << kernels->name;
    EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
    EXPECT_EQ(asked, 1) << "it is asked before any row is assigned";
  }
}

// A tile of rows is compared with many centroids, between which the scan can be stopped.
TEST(KMeans, ALongTileStopsWhenInterrupted) {
  std::mt19937_64 random = make_random(17);
  const Matrix matrix = gaussian(kTileRows, 4, random);
  const Matrix many = gaussian(20000, 4, random);
  const PointSet set = PointSet::first_rows(make_model(matrix), matrix.rows);
  const Points& points = set.points();
  Centroids centroids(Metric::kEuclidean, many.rows, many.dims);
  for (int64_t row = 0; row < many.rows; ++row) centroids.set(row, many.row(row));
  const ScopedFloatEnvironment environment;
  for (const cpu::Kernels* const kernels : cpu::usable_kernels()) {
    const auto scan = cpu::CentroidScan::prepare(*kernels, points, centroids, {});
    ASSERT_TRUE(scan.ok());
    std::vector<int32_t> labels(static_cast<size_t>(matrix.rows));
    int64_t asked = 0;
    scan.value().visit(0, 1, std::span(labels), [&] { return ++asked < 0; });
    EXPECT_GT(asked, 50) << kernels->name;
    asked = 0;
    scan.value().visit(0, 1, std::span(labels), [&] { return ++asked == 3; });
    EXPECT_EQ(asked, 3) << kernels->name;
  }
}

// However late the interrupt comes, the fit stops, and the same fit afterwards gives the same rows.
TEST(KMeans, StopsWhenInterrupted) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(14);
  const Matrix matrix = gaussian(20000, 40, random);
  const PointSet set = PointSet::first_rows(make_model(matrix), matrix.rows);
  const auto analysis = make_analysis();
  KMeansOptions options;
  options.tolerance = 0;
  auto undisturbed = cluster_rows(*analysis, set.points(), 20, options, {});
  ASSERT_TRUE(undisturbed.ok());
  int64_t stopped = 0;
  for (int64_t calls = 0; calls < 40; calls += 7) {
    int64_t left = calls;
    auto fit = cluster_rows(*analysis, set.points(), 20, options, [&] { return left-- <= 0; });
    if (fit.ok()) continue;
    ++stopped;
    EXPECT_EQ(fit.error().code, ErrorCode::kInterrupted);
  }
  EXPECT_GT(stopped, 0);
  auto again = cluster_rows(*analysis, set.points(), 20, options, {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().centroids.vectors, undisturbed.value().centroids.vectors);
}

TEST(Seeding, RandomRowsAreDifferentAndKnown) {
  std::vector<int32_t> candidates(1000);
  std::iota(candidates.begin(), candidates.end(), 5);
  const std::vector<int32_t> rows = random_rows(candidates, 1000, 3);
  EXPECT_EQ(std::set<int32_t>(rows.begin(), rows.end()).size(), 1000u);
  EXPECT_NE(rows, candidates);
  EXPECT_EQ(random_rows(candidates, 3, 3), std::vector<int32_t>(rows.begin(), rows.begin() + 3));
  EXPECT_NE(random_rows(candidates, 3, 4), random_rows(candidates, 3, 3));
}

Result<std::vector<int32_t>> spread_rows_of(Analysis& analysis, const Points& points, Metric metric,
                                            std::span<const int32_t> candidates, int64_t count,
                                            uint64_t seed) {
  const auto dots = [&](std::span<const float> vector, std::span<double> dots_of_rows) {
    return analysis.dots(points, vector, dots_of_rows, {});
  };
  return spread_rows(dots, points, metric, candidates, count, seed);
}

TEST(Seeding, SpreadRowsCoverDistantBlobs) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(15);
  Matrix matrix{600, 3, std::vector<float>(1800)};
  for (int64_t i = 0; i < 600; ++i)  // three tiny blobs, on the axes
    for (int64_t j = 0; j < 3; ++j)
      matrix.row(i)[j] = (i % 3 == j ? 1.0f : 0.0f) + 1e-4f * static_cast<float>(random() % 100) / 100;
  const PointSet set = PointSet::first_rows(make_model(matrix), 600);
  std::vector<int32_t> candidates(600);
  std::iota(candidates.begin(), candidates.end(), 0);
  for (const Metric metric : kMetrics) {
    std::vector<std::vector<int32_t>> drawn;
    for (const NamedAnalysis& variant : all_analyses({1, 2})) {
      auto rows = spread_rows_of(*variant.analysis, set.points(), metric, candidates, 3, 17);
      ASSERT_TRUE(rows.ok());
      std::set<int32_t> blobs;
      for (const int32_t row : rows.value()) blobs.insert(row % 3);
      EXPECT_EQ(blobs.size(), 3u);
      drawn.push_back(rows.value());
      EXPECT_EQ(drawn.back(), drawn.front()) << variant.name;
    }
  }
  auto all = spread_rows_of(*make_analysis(), set.points(), Metric::kCosine, candidates, 600, 1);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(std::set<int32_t>(all.value().begin(), all.value().end()).size(), 600u);
}

}  // namespace
}  // namespace glove::test
