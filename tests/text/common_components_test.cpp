// Weights and common components, against their definitions.
#include "text/common_components.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/float_environment.h"
#include "tests/analysis/analyses.h"
#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

constexpr int64_t kRows = 700;

// sum p_i (a / (a + p_i))^2 x_i x_i^T, written out.
std::vector<double> moment_by_definition(const Matrix& matrix, double a) {
  double harmonic = 0;
  for (int64_t rank = 1; rank <= matrix.rows; ++rank) harmonic += 1.0 / static_cast<double>(rank);
  const auto dims = static_cast<size_t>(matrix.dims);
  std::vector<double> moment(dims * dims);
  for (int64_t i = 0; i < matrix.rows; ++i) {
    const double p = 1 / (static_cast<double>(i + 1) * harmonic);
    const double factor = p * (a / (a + p)) * (a / (a + p));
    for (size_t j = 0; j < dims; ++j)
      for (size_t k = 0; k < dims; ++k)
        moment[j * dims + k] +=
            factor * static_cast<double>(matrix.row(i)[j]) * static_cast<double>(matrix.row(i)[k]);
  }
  return moment;
}

TEST(CommonComponents, AreEigenvectorsOfTheWeightedMoment) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(61);
  for (const int64_t dims : {2, 5, 11, 24}) {
    const Matrix matrix = gaussian(kRows, dims, random);
    for (const double a : {1e-4, 0.3}) {
      const CommonComponents common =
          derive_common_components(*make_analysis(), make_model(matrix), WordWeights::of_rank(kRows, a), {})
              .value();
      ASSERT_EQ(common.count, std::min<int64_t>(10, dims - 1));
      const std::vector<double> moment = moment_by_definition(matrix, a);
      double trace = 0;
      for (int64_t j = 0; j < dims; ++j) trace += moment[static_cast<size_t>(j * dims + j)];
      double last = trace;
      for (int64_t c = 0; c < common.count; ++c) {
        const float* const u = common.vectors.data() + c * dims;
        std::vector<double> product(static_cast<size_t>(dims));
        double value = 0;
        double length = 0;
        for (int64_t j = 0; j < dims; ++j) {
          for (int64_t k = 0; k < dims; ++k)
            product[static_cast<size_t>(j)] +=
                moment[static_cast<size_t>(j * dims + k)] * static_cast<double>(u[k]);
          value += product[static_cast<size_t>(j)] * static_cast<double>(u[j]);
          length += static_cast<double>(u[j]) * static_cast<double>(u[j]);
        }
        EXPECT_NEAR(length, 1, 1e-6);
        EXPECT_LE(value, last * (1 + 1e-5)) << "the largest first";
        last = value;
        for (int64_t j = 0; j < dims; ++j)
          EXPECT_NEAR(product[static_cast<size_t>(j)], value * static_cast<double>(u[j]), trace * 1e-5);
      }
    }
  }
}

TEST(CommonComponents, HaveTheSameBitsOnEveryVariant) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(62);
  const Matrix matrix = gaussian(5000, 13, random);
  const ModelPtr model = make_model(matrix);
  const WordWeights weights = WordWeights::of_rank(5000, 1e-4);
  const CommonComponents expected = derive_common_components(*make_analysis(), model, weights, {}).value();
  for (const NamedAnalysis& named : all_analyses({1, 3}))
    EXPECT_EQ(derive_common_components(*named.analysis, model, weights, {}).value().vectors, expected.vectors)
        << named.name;
}

TEST(CommonComponents, RemovedOnesLeaveNothingInTheirDirection) {
  const ScopedFloatEnvironment environment;
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(63);
  const Matrix matrix = gaussian(kRows, 19, random);
  const CommonComponents common =
      derive_common_components(*make_analysis(), make_model(matrix), WordWeights::none(kRows), {}).value();
  std::vector<double> vector(matrix.row(3), matrix.row(3) + 19);
  common.remove(4, vector);
  for (int64_t c = 0; c < 6; ++c) {
    double share = 0;
    for (size_t j = 0; j < 19; ++j)
      share += vector[j] * static_cast<double>(common.vectors[static_cast<size_t>(c) * 19 + j]);
    if (c < 4) {
      EXPECT_NEAR(share, 0, 1e-5);
    } else {
      EXPECT_GT(std::fabs(share), 1e-9);
    }
  }
}

TEST(CommonComponents, CanBeInterruptedAndNeedFewDimensions) {
  std::mt19937_64 random = make_random(64);
  const ModelPtr model = make_model(gaussian(9000, 8, random));
  const auto interrupted =
      derive_common_components(*make_analysis(), model, WordWeights::none(9000), [] { return true; });
  ASSERT_FALSE(interrupted.ok());
  EXPECT_EQ(interrupted.error().code, ErrorCode::kInterrupted);
  const CommonComponents of_line =
      derive_common_components(*make_analysis(), make_model(gaussian(3, 1, random)), WordWeights::none(3), {})
          .value();
  EXPECT_EQ(of_line.count, 0);
}

TEST(WordWeights, FollowTheirDefinitions) {
  const ScopedFloatEnvironment environment;
  const WordWeights zipf = WordWeights::of_rank(3, 0.5);
  const double harmonic = 1.0 + 1.0 / 2 + 1.0 / 3;
  EXPECT_DOUBLE_EQ(zipf.frequency(1), 1 / (2 * harmonic));
  EXPECT_DOUBLE_EQ(zipf.weight(1), 0.5 / (0.5 + 1 / (2 * harmonic)));
  const WordWeights counted =
      WordWeights::of_counts(std::make_shared<const std::vector<double>>(std::vector<double>{6, 0, 2}), 0.1);
  EXPECT_DOUBLE_EQ(counted.frequency(0), 0.75);
  EXPECT_DOUBLE_EQ(counted.weight(0), 0.1 / 0.85);
  EXPECT_EQ(counted.weight(1), 1);
  EXPECT_EQ(WordWeights::none(4).weight(2), 1);
  EXPECT_EQ(WordWeights::none(4).frequency(2), 0.25);
}

}  // namespace
}  // namespace glove::test
