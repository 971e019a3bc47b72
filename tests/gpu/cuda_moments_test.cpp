// Sums over rows on a real device: they equal the CPU's to the last bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "analysis/analysis.h"
#include "analysis/principal.h"
#include "base/float_environment.h"
#include "gpu/analysis/cuda_analysis.h"
#include "tests/gpu/cuda_support.h"

namespace glove::testing {
namespace {

class CudaMoments : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    ASSERT_TRUE(IsSkipped() || backend_named("cuda").analysis() != nullptr);
  }

  // Both backends' sums, written over NaNs.
  template <class Sum>
  void expect_equal_sums(const std::string& what, const Points& points, size_t size, const Sum& sum) {
    std::vector<double> wanted(size, std::numeric_limits<double>::quiet_NaN());
    std::vector<double> got(size, std::numeric_limits<double>::quiet_NaN());
    ASSERT_TRUE(sum(*backend_named("cpu").analysis(), std::span(wanted)).ok());
    const Status status = sum(*backend_named("cuda").analysis(), std::span(got));
    ASSERT_TRUE(status.ok()) << status.error().message;
    for (size_t i = 0; i < size; ++i)
      ASSERT_EQ(std::bit_cast<uint64_t>(got[i]), std::bit_cast<uint64_t>(wanted[i]))
          << what << "[" << i << "], " << points.rows << " x " << points.dims << ": " << got[i] << " and "
          << wanted[i] << ", GLOVE_TEST_SEED=" << test_seed();
  }

  void expect_equal_sums(const ModelPtr& model, int64_t rows, Rows kind) {
    const ScopedFloatEnvironment environment;
    const PointSet set = PointSet::first_rows(model, rows);
    const Points& points = set.points();
    auto held = searchers_of(model).open(0, {});
    ASSERT_TRUE(held.ok()) << held.error().message;
    const auto dims = static_cast<size_t>(points.dims);
    const std::vector<float> vector = random_vector(random_, points.dims, kind);
    std::vector<double> weights = unit_weights(points);
    for (double& weight : weights)
      if (random_() % 5 == 0) weight = 0;
    const auto given = [&](bool weighted) {
      return weighted ? std::span<const double>(weights) : std::span<const double>();
    };
    expect_equal_sums("A^T A x", points, dims, [&](Analysis& a, std::span<double> out) {
      return a.gram_product(points, vector, out, {});
    });
    for (const bool weighted : {false, true}) {
      expect_equal_sums(weighted ? "weighted column sums" : "column sums", points, dims,
                        [&](Analysis& a, std::span<double> out) {
                          return a.column_sums(points, given(weighted), out, {});
                        });
      expect_equal_sums(weighted ? "weighted second moment" : "second moment", points, dims * dims,
                        [&](Analysis& a, std::span<double> out) {
                          return a.second_moment(points, {given(weighted), vector}, out, {});
                        });
    }
    expect_equal_sums(
        "second moment, not centred", points, dims * dims,
        [&](Analysis& a, std::span<double> out) { return a.second_moment(points, {}, out, {}); });
    forget(model);
  }
};

// Devices whose tensor cores add in another order do without them.
TEST_F(CudaMoments, SecondMomentsWithAndWithoutTensorCores) {
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {1, 31, 100, 300, 340}) {
    const auto rows = static_cast<int64_t>(1 + random_() % 3000);
    const PointSet set = PointSet::first_rows(random_model(random_, rows, dims, Rows::kGaussian), rows);
    gpu::DeviceArray<float> vectors;
    ASSERT_TRUE(vectors.reserve(rows * dims).ok());
    for (int64_t row = 0; row < rows; ++row)
      ASSERT_EQ(cudaMemcpy(vectors.data() + row * dims, set.points().vector(static_cast<int32_t>(row)),
                           static_cast<size_t>(dims) * 4, cudaMemcpyHostToDevice),
                cudaSuccess);
    gpu::DevicePart part;
    part.rows = rows;
    part.dims = static_cast<int32_t>(dims);
    part.vectors = vectors.data();
    const std::vector<double> weights = unit_weights(set.points());
    for (const std::span<const double> given : {std::span<const double>(), std::span(weights)}) {
      const MomentRows what = {given, {}};
      std::vector<double> wanted(static_cast<size_t>(dims * dims), NAN);
      ASSERT_TRUE(backend_named("cpu").analysis()->second_moment(set.points(), what, wanted, {}).ok());
      for (const bool tensor_cores : {false, true}) {
        gpu::CudaMoments moments(tensor_cores);
        ASSERT_TRUE(moments.create().ok());
        std::vector<double> got(wanted.size(), NAN);
        ASSERT_TRUE(moments.run(part, SecondMoment{what, got}, {}).ok());
        ASSERT_EQ(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(double)), 0)
            << rows << " x " << dims << (tensor_cores ? ", tensor cores" : ", fma")
            << ", GLOVE_TEST_SEED=" << test_seed();
      }
    }
  }
}

TEST_F(CudaMoments, RandomShapesOfEveryKind) {
  for (int round = 0; round < 12; ++round)
    for (const Rows kind : kAllRows) {
      const auto rows = 1 + static_cast<int64_t>(random_() % (round % 4 == 0 ? 40 : 3000));
      const auto dims = 1 + static_cast<int64_t>(random_() % (round % 3 == 0 ? 400 : 70));
      expect_equal_sums(random_model(random_, rows, dims, kind), rows, kind);
      if (HasFatalFailure()) return;
    }
}

TEST_F(CudaMoments, BlocksThatAreFullAndPartsOfModels) {
  for (const int64_t rows : {1, 31, 1023, 1024, 1025, 5000}) {
    expect_equal_sums(large_model(random_(), 5000, 33), rows, Rows::kGaussian);
    if (HasFatalFailure()) return;
  }
}

TEST_F(CudaMoments, OneDimensionAndFourThousand) {
  expect_equal_sums(random_model(random_, 2100, 1, Rows::kGaussian), 2100, Rows::kGaussian);
  expect_equal_sums(random_model(random_, 40, 4096, Rows::kGaussian), 40, Rows::kGaussian);
  expect_equal_sums(random_model(random_, 1500, 320, Rows::kGaussian), 1500, Rows::kGaussian);
  expect_equal_sums(random_model(random_, 1500, 321, Rows::kGaussian), 1500, Rows::kGaussian);
}

TEST_F(CudaMoments, PrincipalComponentsAreTheCpus) {
  const ModelPtr model = large_model(random_(), 20000, 50);
  const PointSet set = PointSet::first_rows(model, 20000);
  auto held = backend_named("cuda").analysis()->hold_rows(set.points(), {});
  ASSERT_TRUE(held.ok() && held.value() != nullptr);
  const auto wanted = principal_components(*backend_named("cpu").analysis(), set.points(), {}, {});
  const auto got = principal_components(*backend_named("cuda").analysis(), set.points(), {}, {});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value().variances, wanted.value().variances);
  EXPECT_EQ(got.value().vectors, wanted.value().vectors);
}

TEST_F(CudaMoments, OfALargeModel) {
  if (std::getenv("GLOVE_TEST_LARGE") == nullptr) GTEST_SKIP() << "set GLOVE_TEST_LARGE=1";
  expect_equal_sums(large_model(random_(), 341479, 100), 341479, Rows::kGaussian);
  expect_equal_sums(large_model(random_(), 700001, 300), 700001, Rows::kGaussian);
}

}  // namespace
}  // namespace glove::testing
