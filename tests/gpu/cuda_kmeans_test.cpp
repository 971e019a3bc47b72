// k-means on a real device: fits equal the CPU's to the last bit.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/kmeans.h"
#include "base/float_environment.h"
#include "model/model_builder.h"
#include "tests/gpu/cuda_support.h"
#include "tests/gpu/same_fit.h"

namespace glove::testing {
namespace {

constexpr Metric kMetrics[] = {Metric::kCosine, Metric::kEuclidean};

class CudaKMeans : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    ASSERT_TRUE(IsSkipped() || backend_named("cuda").analysis() != nullptr);
  }

  void expect_equal_fits(const PointSet& set, int64_t k, KMeansOptions options) {
    options.seed = random_();
    for (const Metric metric : kMetrics) {
      options.metric = metric;
      auto wanted = cluster_rows(*backend_named("cpu").analysis(), set.points(), k, options, {});
      auto got = cluster_rows(*backend_named("cuda").analysis(), set.points(), k, options, {});
      ASSERT_EQ(got.ok(), wanted.ok()) << (got.ok() ? wanted : got).error().message;
      if (!got.ok()) continue;
      ASSERT_EQ(difference(got.value(), wanted.value()), "")
          << (metric == Metric::kCosine ? "cosine, " : "euclidean, ") << set.rows() << " x "
          << set.points().dims << ", k " << k << ", GLOVE_TEST_SEED=" << test_seed();
    }
  }

  PointSet points_of(int64_t rows, int64_t dims, Rows kind) {
    return PointSet::first_rows(random_model(random_, rows, dims, kind), rows);
  }
};

KMeansOptions iterations(int64_t count) {
  KMeansOptions options;
  options.max_iterations = count;
  options.tolerance = 0;
  options.start = KMeansOptions::Start::kRandom;
  return options;
}

TEST_F(CudaKMeans, RandomShapesOfEveryKind) {
  for (int round = 0; round < 40; ++round)
    for (const Rows kind : kAllRows) {
      const auto rows = 1 + static_cast<int64_t>(random_() % (round % 4 == 0 ? 40 : 900));
      const auto dims = 1 + static_cast<int64_t>(random_() % (round % 3 == 0 ? 400 : 40));
      const int64_t k =
          1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(std::min<int64_t>(rows, 60)));
      KMeansOptions options = iterations(1 + static_cast<int64_t>(random_() % 12));
      if (round % 2 == 0) options.start = KMeansOptions::Start::kSpread;
      expect_equal_fits(points_of(rows, dims, kind), k, options);
      if (HasFatalFailure()) return;
    }
}

TEST_F(CudaKMeans, OneClusterAndAsManyAsRows) {
  for (const int64_t rows : {1, 2, 31, 32, 33, 500}) {
    expect_equal_fits(points_of(rows, 20, Rows::kGaussian), 1, iterations(5));
    expect_equal_fits(points_of(rows, 20, Rows::kGaussian), rows, iterations(5));
    if (HasFatalFailure()) return;
  }
}

TEST_F(CudaKMeans, OneDimensionAndFourThousand) {
  expect_equal_fits(points_of(700, 1, Rows::kGaussian), 9, iterations(20));
  expect_equal_fits(points_of(300, 4096, Rows::kGaussian), 70, iterations(6));
  expect_equal_fits(points_of(100, 4097, Rows::kGaussian), 7, iterations(3));  // the host's
}

TEST_F(CudaKMeans, AThousandClusters) {
  const ModelPtr model = large_model(random_(), 20011, 100);
  expect_equal_fits(PointSet::first_rows(model, model->words()), 1000, iterations(8));
}

// On both sides of the limits between the kernels, and of the chunks of 256 centroids.
TEST_F(CudaKMeans, MoreThanAFewClusters) {
  for (const int64_t dims : {3, 33, 90, 128, 250, 320, 321}) {
    const auto rows = static_cast<int64_t>(2500 + random_() % 3000);
    const ModelPtr model = large_model(random_(), rows, dims);
    for (const int64_t k : {64, 65, 256, 257, 700}) {
      expect_equal_fits(PointSet::first_rows(model, rows), k, iterations(5));
      if (HasFatalFailure()) return;
    }
  }
  expect_equal_fits(points_of(2000, 20, Rows::kDuplicates), 100, iterations(5));
}

// The centroids do not fit in shared memory at once.
TEST_F(CudaKMeans, ManyLongCentroids) {
  const ModelPtr model = large_model(random_(), 5003, 300);
  expect_equal_fits(PointSet::first_rows(model, model->words()), 1500, iterations(4));
  const ModelPtr longer = large_model(random_(), 3000, 900);
  expect_equal_fits(PointSet::first_rows(longer, longer->words()), 400, iterations(4));
}

// Rows around a few directions, so near to each other that only exact scores tell the clusters of a direction
// apart: about `k / directions` of them.
TEST_F(CudaKMeans, ClustersThatAreNearlyEqual) {
  struct Shape {
    int64_t k;
    int directions;
  };
  for (const int64_t dims : {30, 300}) {
    for (const Shape& shape : {Shape{12, 5}, {50, 12}, {300, 250}, {300, 150}, {300, 80}, {300, 20}}) {
      std::vector<std::vector<float>> centers;
      for (int i = 0; i < shape.directions; ++i)
        centers.push_back(random_vector(random_, dims, Rows::kGaussian));
      std::normal_distribution<float> noise(0.0f, 2e-4f);
      ModelBuilder builder("near");
      for (uint64_t i = 0; i < 3000; ++i) {
        std::vector<float> row = centers[random_() % centers.size()];
        for (float& x : row) x += noise(random_);
        ASSERT_TRUE(builder.add(word_name(i), row).value());
      }
      expect_equal_fits(PointSet::first_rows(builder.finish(1).value(), 3000), shape.k, iterations(6));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(CudaKMeans, EqualRowsAndZeroRows) {
  const ModelPtr model = large_model(random_(), 1000, 10);
  std::vector<int32_t> ids(3000);
  for (int32_t& id : ids) id = static_cast<int32_t>(random_() % 7);  // seven different rows
  expect_equal_fits(PointSet::chosen_rows(model, ids), 5, iterations(10));
  expect_equal_fits(PointSet::chosen_rows(model, ids), 40, iterations(10));  // clusters become empty
  expect_equal_fits(PointSet::chosen_rows(model, std::vector<int32_t>(100, 3)), 4, iterations(10));
}

TEST_F(CudaKMeans, FirstRowsAndChosenOnes) {
  const ModelPtr model = large_model(random_(), 30000, 50);
  for (const int64_t rows : {29999, 17003, 400})
    expect_equal_fits(PointSet::first_rows(model, rows), 24, iterations(10));
  ASSERT_TRUE(searchers_of(model).open(0, {}).ok());
  for (const int64_t rows : {30000, 17003, 400})  // the model is resident now
    expect_equal_fits(PointSet::first_rows(model, rows), 24, iterations(10));
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < 30000; id += 1 + static_cast<int32_t>(random_() % 5)) ids.push_back(id);
  expect_equal_fits(PointSet::chosen_rows(model, ids), 24, iterations(10));
  forget(model);
}

TEST_F(CudaKMeans, RepeatsAndSeveralRunsAreEqual) {
  const ModelPtr model = large_model(random_(), 20000, 42);
  KMeansOptions options;
  options.runs = 3;
  expect_equal_fits(PointSet::first_rows(model, 20000), 24, options);
  expect_equal_fits(PointSet::first_rows(model, 20000), 24, options);
}

// Their kernels are the same and take different amounts of shared memory.
TEST_F(CudaKMeans, FitsOfDifferentShapesAtOnce) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (const auto& [dims, k] : {std::pair{300, 3}, {290, 60}, {310, 30}, {300, 64}})
    threads.emplace_back([&, set = points_of(400, dims, Rows::kGaussian), k = k] {
      const ScopedFloatEnvironment environment;
      const auto wanted = cluster_rows(*backend_named("cpu").analysis(), set.points(), k, iterations(8), {});
      for (int i = 0; i < 20; ++i) {
        const auto got = cluster_rows(*backend_named("cuda").analysis(), set.points(), k, iterations(8), {});
        if (!got.ok() || !difference(got.value(), wanted.value()).empty()) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0) << "GLOVE_TEST_SEED=" << test_seed();
}

TEST_F(CudaKMeans, AnInterruptEndsAFit) {
  const ModelPtr model = large_model(random_(), 20000, 42);
  const PointSet set = PointSet::first_rows(model, 20000);
  for (const int allowed : {0, 1, 3, 9}) {
    int asked = 0;
    auto fit = cluster_rows(*backend_named("cuda").analysis(), set.points(), 24, iterations(100),
                            [&] { return ++asked > allowed; });
    ASSERT_FALSE(fit.ok());
    EXPECT_EQ(fit.error().code, ErrorCode::kInterrupted) << fit.error().message;
  }
  expect_equal_fits(set, 24, iterations(3));
}

TEST_F(CudaKMeans, OfALargeModel) {
  if (std::getenv("GLOVE_TEST_LARGE") == nullptr) GTEST_SKIP() << "set GLOVE_TEST_LARGE=1";
  const ModelPtr model = large_model(random_(), 341479, 100);
  const PointSet set = PointSet::first_rows(model, model->words());
  expect_equal_fits(set, 24, iterations(5));
  expect_equal_fits(set, 1000, iterations(3));
}

}  // namespace
}  // namespace glove::testing
