// Second moments, principal components and derived models.
#include "analysis/principal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/derive.h"
#include "analysis/eigen.h"
#include "analysis/plane.h"
#include "base/float_environment.h"
#include "model/exact_dot.h"
#include "model/model_builder.h"
#include "tests/analysis/analyses.h"
#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

// Row i as second moments see it.
std::vector<double> moment_row(const Matrix& matrix, int64_t row, const MomentRows& rows) {
  const double weight = rows.weights.empty() ? 1 : rows.weights[static_cast<size_t>(row)];
  std::vector<double> y;
  for (int64_t j = 0; j < matrix.dims; ++j) {
    const double center = rows.center.empty() ? 0 : rows.center[static_cast<size_t>(j)];
    y.push_back(static_cast<float>(weight * static_cast<double>(matrix.row(row)[j]) - center));
  }
  return y;
}

std::vector<double> reference_moment(const Matrix& matrix, const MomentRows& rows) {
  const auto dims = static_cast<size_t>(matrix.dims);
  std::vector<double> total(dims * dims);
  for (int64_t first = 0; first < matrix.rows; first += kMomentBlock) {
    std::vector<double> block(dims * dims);
    for (int64_t row = first; row < std::min(matrix.rows, first + kMomentBlock); ++row) {
      if (!rows.weights.empty() && rows.weights[static_cast<size_t>(row)] == 0) continue;
      const std::vector<double> y = moment_row(matrix, row, rows);
      for (size_t i = 0; i < dims; ++i)
        for (size_t j = 0; j < dims; ++j) block[i * dims + j] += y[i] * y[j];
    }
    for (size_t i = 0; i < total.size(); ++i) total[i] += block[i];
  }
  return total;
}

TEST(Moments, AreTheReferencesOnEveryVariant) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(40);
  const std::vector<NamedAnalysis> analyses = all_analyses({1, 2, 7});
  for (const int64_t dims : {1, 3, 4, 24, 25, 50}) {
    const Matrix matrix = clustered(9000, dims, random);
    const PointSet set = PointSet::first_rows(make_model(matrix), matrix.rows);
    std::vector<double> weights(9000);
    std::vector<float> center(static_cast<size_t>(dims));
    for (double& weight : weights) weight = random() % 5 ? static_cast<double>(random() % 1000) / 700 : 0;
    for (float& value : center) value = static_cast<float>(random() % 100) / 30;
    for (const bool weighted : {false, true}) {
      MomentRows rows;
      if (weighted) rows = {weights, center};
      const std::vector<double> expected = reference_moment(matrix, rows);
      std::vector<double> sums(static_cast<size_t>(dims));
      for (int64_t first = 0; first < 9000; first += kMomentBlock)
        for (int64_t j = 0; j < dims; ++j) {
          double block = 0;
          for (int64_t row = first; row < std::min<int64_t>(9000, first + kMomentBlock); ++row)
            block +=
                (weighted ? weights[static_cast<size_t>(row)] : 1) * static_cast<double>(matrix.row(row)[j]);
          sums[static_cast<size_t>(j)] += block;
        }
      for (const NamedAnalysis& variant : analyses) {
        std::vector<double> moment(expected.size());
        ASSERT_TRUE(variant.analysis->second_moment(set.points(), rows, moment, {}).ok());
        ASSERT_EQ(moment, expected) << variant.name << ", " << dims << " dimensions";
        std::vector<double> column_sums(sums.size());
        ASSERT_TRUE(variant.analysis->column_sums(set.points(), rows.weights, column_sums, {}).ok());
        ASSERT_EQ(column_sums, sums) << variant.name << ", " << dims << " dimensions";
      }
    }
  }
}

// Wide enough for a block of rows to be cut into parts.
TEST(Moments, WideRowsAreTheReferences) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(41);
  const Matrix matrix = gaussian(40, 700, random);
  const PointSet set = PointSet::first_rows(make_model(matrix), matrix.rows);
  const std::vector<double> expected = reference_moment(matrix, {});
  for (const NamedAnalysis& variant : all_analyses({1, 2})) {
    std::vector<double> moment(expected.size());
    ASSERT_TRUE(variant.analysis->second_moment(set.points(), {}, moment, {}).ok());
    ASSERT_EQ(moment, expected) << variant.name;
  }
}

// Denormals, 1e30 and signed zeros, in one row and in one dimension; the outputs hold NaN before.
TEST(Moments, OfExtremeValuesAreTheReferences) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(47);
  constexpr float kValues[] = {0.0F, -0.0F, 1e-45F, -1e-40F, 1e30F, -1e30F, 1.5F, -0.3F};
  for (const auto& [rows, dims] : {std::pair{1, 1}, {1, 40}, {1025, 1}, {1030, 9}}) {
    Matrix matrix = gaussian(rows, dims, random);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < dims; ++j) matrix.row(i)[j] = kValues[random() % 8];
    matrix.row(0)[0] = 1e30F;
    const PointSet set = PointSet::first_rows(make_model(matrix), rows);
    const std::vector<double> weights(static_cast<size_t>(rows), -1e-30);
    const std::vector<float> center(static_cast<size_t>(dims), 1e-42F);
    for (const MomentRows& chosen : {MomentRows{}, MomentRows{{}, center}, MomentRows{weights, center}}) {
      const std::vector<double> expected = reference_moment(matrix, chosen);
      for (const NamedAnalysis& variant : all_analyses({2})) {
        std::vector<double> moment(expected.size(), std::nan(""));
        ASSERT_TRUE(variant.analysis->second_moment(set.points(), chosen, moment, {}).ok());
        ASSERT_EQ(moment, expected) << variant.name << ", " << rows << " x " << dims;
      }
    }
  }
}

TEST(GramProduct, IsItsDefinitionOnEveryVariant) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(46);
  for (const auto& [rows, dims] : {std::pair{1, 1}, {33, 3}, {4097, 8}, {9000, 25}, {50, 700}, {3, 4096}}) {
    Matrix matrix = gaussian(rows, dims, random);
    for (int64_t j = 0; j < dims; ++j) matrix.row(rows / 2)[j] = 0;
    const Matrix vector = gaussian(1, dims, random);
    const PointSet set = PointSet::first_rows(make_model(matrix), rows);
    std::vector<double> expected(static_cast<size_t>(dims));
    for (int64_t first = 0; first < rows; first += kMomentBlock) {
      std::vector<double> block(expected.size());
      for (int64_t row = first; row < std::min<int64_t>(rows, first + kMomentBlock); ++row) {
        const double dot = exact_dot(vector.row(0), matrix.row(row), dims);
        for (int64_t j = 0; j < dims; ++j)
          block[static_cast<size_t>(j)] += dot * static_cast<double>(matrix.row(row)[j]);
      }
      for (size_t j = 0; j < expected.size(); ++j) expected[j] += block[j];
    }
    for (const NamedAnalysis& variant : all_analyses({1, 2, 7})) {
      const std::span<const float> x(vector.row(0), static_cast<size_t>(dims));
      std::vector<double> product(expected.size(), 1.0);
      ASSERT_TRUE(variant.analysis->gram_product(set.points(), x, product, {}).ok());
      ASSERT_EQ(product, expected) << variant.name << ", " << rows << " x " << dims;
      std::vector<double> dots(static_cast<size_t>(rows));
      ASSERT_TRUE(variant.analysis->dots(set.points(), x, dots, {}).ok());
      ASSERT_TRUE(variant.analysis->column_sums(set.points(), dots, product, {}).ok());
      ASSERT_EQ(product, expected) << variant.name << " in two passes, " << rows << " x " << dims;
    }
  }
}

TEST(Eigen, SolvesWhatIsKnown) {
  const std::vector<double> matrix = {2, 1, 0, 1, 2, 0, 0, 0, 5};
  auto system = symmetric_eigen(matrix, 3);
  ASSERT_TRUE(system.ok());
  const double root = std::sqrt(0.5);
  const double values[] = {5, 3, 1};
  const double vectors[] = {0, 0, 1, root, root, 0, root, -root, 0};
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(system.value().values[i], values[i], 1e-12);
  for (size_t i = 0; i < 9; ++i)
    EXPECT_NEAR(std::fabs(system.value().vectors[i]), std::fabs(vectors[i]), 1e-12);
}

TEST(Eigen, VectorsAreOrthonormalWithTheLargestComponentPositive) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(42);
  constexpr int64_t kSize = 60;
  const Matrix rows = gaussian(100, kSize, random);
  const std::vector<double> matrix = reference_moment(rows, {});
  auto system = symmetric_eigen(matrix, kSize);
  ASSERT_TRUE(system.ok());
  const std::vector<double>& vectors = system.value().vectors;
  const auto at = [&](int64_t c, int64_t j) { return vectors[static_cast<size_t>(c * kSize + j)]; };
  for (int64_t c = 0; c < kSize; ++c) {
    if (c > 0) {
      EXPECT_GE(system.value().values[static_cast<size_t>(c - 1)],
                system.value().values[static_cast<size_t>(c)]);
    }
    double largest = 0;
    for (int64_t j = 0; j < kSize; ++j)
      if (std::fabs(at(c, j)) > std::fabs(largest)) largest = at(c, j);
    EXPECT_GT(largest, 0);
    for (int64_t i = 0; i < kSize; ++i) {
      double product = 0, dot = 0;
      for (int64_t j = 0; j < kSize; ++j) {
        product += matrix[static_cast<size_t>(i * kSize + j)] * at(c, j);
        dot += at(i, j) * at(c, j);
      }
      EXPECT_NEAR(product, system.value().values[static_cast<size_t>(c)] * at(c, i), 1e-9);
      EXPECT_NEAR(dot, i == c ? 1 : 0, 1e-12);
    }
  }
}

// Matrices whose values are equal, zero, far apart, or beside nothing.
TEST(Eigen, SolvesStrangeMatrices) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(47);
  std::normal_distribution<double> normal;
  for (const size_t size : {1, 2, 3, 7, 8, 9, 17, 40}) {
    std::vector<std::vector<double>> matrices(7, std::vector<double>(size * size));
    for (size_t i = 0; i < size; ++i)
      for (size_t j = 0; j <= i; ++j) {
        const double value = normal(random);
        const std::array<double, 7> entries = {0,
                                               i == j ? 5.0 : 0.0,
                                               1,
                                               value,
                                               value * std::pow(10, -static_cast<double>(i + j)),
                                               value * 1e300,
                                               i - j < 2 ? value * 1e-300 : 0};
        for (size_t m = 0; m < matrices.size(); ++m)
          matrices[m][i * size + j] = matrices[m][j * size + i] = entries[m];
      }
    for (size_t m = 0; m < matrices.size(); ++m) {
      const std::vector<double>& matrix = matrices[m];
      const auto system = symmetric_eigen(matrix, static_cast<int64_t>(size));
      ASSERT_TRUE(system.ok());
      double scale = 0, trace = 0, sum = 0;
      for (size_t i = 0; i < size * size; ++i) scale = std::max(scale, std::fabs(matrix[i]));
      if (scale == 0) scale = 1;
      for (size_t c = 0; c < size; ++c) {
        const double* const vector = system.value().vectors.data() + c * size;
        trace += matrix[c * size + c] / scale;
        sum += system.value().values[c] / scale;
        for (size_t i = 0; i < size; ++i) {
          double product = 0, dot = 0;
          for (size_t j = 0; j < size; ++j) {
            product += matrix[i * size + j] / scale * vector[j];
            dot += vector[j] * system.value().vectors[i * size + j];
          }
          EXPECT_NEAR(product, system.value().values[c] / scale * vector[i], 1e-12) << m << ", " << size;
          EXPECT_NEAR(dot, i == c ? 1 : 0, 1e-13) << m << ", " << size;
        }
      }
      EXPECT_NEAR(trace, sum, 1e-11);
      EXPECT_TRUE(std::is_sorted(system.value().values.rbegin(), system.value().values.rend()));
    }
  }
}

TEST(Eigen, StopsWhenInterrupted) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(48);
  std::normal_distribution<double> normal;
  constexpr int64_t kSize = 200;
  std::vector<double> matrix(kSize * kSize);
  for (int64_t i = 0; i < kSize; ++i)
    for (int64_t j = 0; j <= i; ++j)
      matrix[static_cast<size_t>(i * kSize + j)] = matrix[static_cast<size_t>(j * kSize + i)] =
          normal(random);
  for (const int asked : {0, 1, 2}) {
    int times = 0;
    const auto system = symmetric_eigen(matrix, kSize, [&] { return times++ >= asked; });
    if (asked == 0) {
      EXPECT_FALSE(system.ok());
    }
    if (!system.ok()) {
      EXPECT_EQ(system.error().code, ErrorCode::kInterrupted);
    }
  }
}

TEST(Principal, FindsTheAxesOfAnEllipsoid) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(43);
  Matrix matrix = gaussian(20000, 3, random);
  for (int64_t i = 0; i < matrix.rows; ++i) {
    matrix.row(i)[0] = 7 + matrix.row(i)[0];
    matrix.row(i)[1] = -3 + 5 * matrix.row(i)[1];
    matrix.row(i)[2] = 0.2f * matrix.row(i)[2];
  }
  const PointSet set = PointSet::first_rows(make_model(matrix), matrix.rows);
  const auto analysis = make_analysis();
  auto found = principal_components(*analysis, set.points(), {}, {});
  ASSERT_TRUE(found.ok()) << found.error().message;
  const PrincipalComponents& components = found.value();
  EXPECT_EQ(components.rows, 20000);
  EXPECT_NEAR(components.mean[0], 7, 0.1);
  EXPECT_NEAR(components.mean[1], -3, 0.3);
  EXPECT_NEAR(components.variances[0], 25, 2);
  EXPECT_NEAR(components.variances[1], 1, 0.1);
  EXPECT_NEAR(components.variances[2], 0.04, 0.005);
  EXPECT_NEAR(components.total_variance,
              components.variances[0] + components.variances[1] + components.variances[2], 1e-12);
  EXPECT_NEAR(components.singular_values[0], std::sqrt(components.variances[0] * 19999), 1e-9);
  EXPECT_GT(components.vector(0)[1], 0.99);
  EXPECT_GT(components.vector(1)[0], 0.99);
  auto uncentered = principal_components(*analysis, set.points(), {.center = false, .weights = {}}, {});
  ASSERT_TRUE(uncentered.ok());
  EXPECT_GT(uncentered.value().variances[0] + uncentered.value().variances[1], 25 + 49);
  EXPECT_EQ(uncentered.value().mean, std::vector<float>(3));
}

TEST(Principal, UnitRowsLeaveZeroRowsOut) {
  const Matrix matrix{3, 2, {3, 4, 0, 0, -8, 6}};
  const PointSet set = PointSet::first_rows(make_model(matrix), 3);
  const auto analysis = make_analysis();
  auto found =
      principal_components(*analysis, set.points(), {.center = false, .unit_rows = true, .weights = {}}, {});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().rows, 2);
  EXPECT_NEAR(found.value().total_variance, 1, 1e-6);
  const std::vector<double> nothing(3);
  auto none = principal_components(*analysis, set.points(), {.weights = nothing}, {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "there is no row to compute principal components of");
}

// The plane of the first two components, which wide rows have too.
TEST(Plane, IterationFindsThePlaneOfTheComponents) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(46);
  Matrix matrix = gaussian(600, 40, random);
  for (int64_t i = 0; i < matrix.rows; ++i) {
    matrix.row(i)[3] *= 9;
    matrix.row(i)[17] *= 5;
    if (i % 100 == 0) std::fill_n(matrix.row(i), 40, 0.0f);
  }
  const PointSet set = PointSet::first_rows(make_model(matrix), matrix.rows);
  const auto analysis = make_analysis();
  const auto components =
      principal_components(*analysis, set.points(), {.unit_rows = true, .weights = {}}, {});
  ASSERT_TRUE(components.ok());
  const auto exact = plane_of_components(*analysis, set.points(), components.value(), true, {});
  ASSERT_TRUE(exact.ok());
  PlanePlaces first;
  for (const NamedAnalysis& variant : all_analyses({1, 2, 7})) {
    const auto found = approximate_plane(*variant.analysis, set.points(), {});
    ASSERT_TRUE(found.ok());
    if (first.rows.empty()) first = found.value();
    EXPECT_EQ(found.value().x, first.x) << variant.name;
    EXPECT_EQ(found.value().y, first.y) << variant.name;
  }
  ASSERT_EQ(first.rows, exact.value().rows);
  ASSERT_EQ(first.rows.size(), 594u);
  for (const auto& [found, expected] :
       {std::pair(&first.x, &exact.value().x), {&first.y, &exact.value().y}}) {
    double dot = 0, squares = 0, expected_squares = 0;
    for (size_t i = 0; i < found->size(); ++i) {
      dot += (*found)[i] * (*expected)[i];
      squares += (*found)[i] * (*found)[i];
      expected_squares += (*expected)[i] * (*expected)[i];
    }
    EXPECT_GT(dot / std::sqrt(squares * expected_squares), 0.9999) << "the same direction and sign";
    EXPECT_NEAR(squares / expected_squares, 1, 1e-3);
  }
}

TEST(Plane, IterationTakesAnyRows) {
  const auto analysis = make_analysis();
  const Matrix wide{3, 3000, std::vector<float>(9000, 1)};
  const auto equal = approximate_plane(*analysis, PointSet::first_rows(make_model(wide), 3).points(), {});
  ASSERT_TRUE(equal.ok());
  EXPECT_EQ(equal.value().x, std::vector<double>(3));
  EXPECT_EQ(equal.value().y, std::vector<double>(3));
  const Matrix zeros{2, 1, {0, 0}};
  const auto none = approximate_plane(*analysis, PointSet::first_rows(make_model(zeros), 2).points(), {});
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none.value().rows.empty());
  const Matrix line{2, 1, {1, -2}};
  const auto places = approximate_plane(*analysis, PointSet::first_rows(make_model(line), 2).points(), {});
  ASSERT_TRUE(places.ok());
  EXPECT_EQ(std::fabs(places.value().x[0] - places.value().x[1]), 2);
  EXPECT_EQ(places.value().y, (std::vector<double>{0, 0}));
  const auto stopped =
      approximate_plane(*analysis, PointSet::first_rows(make_model(line), 2).points(), [] { return true; });
  EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
}

TEST(Principal, RefusesRowsThatAreTooWide) {
  const Matrix matrix{1, 2049, std::vector<float>(2049, 1)};
  const PointSet set = PointSet::first_rows(make_model(matrix), 1);
  auto found = principal_components(*make_analysis(), set.points(), {}, {});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message,
            "the model has 2049 dimensions; principal components are computed for at most 2048");
}

TEST(Principal, StopsWhenInterrupted) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(44);
  const Matrix matrix = gaussian(20000, 60, random);
  const PointSet set = PointSet::first_rows(make_model(matrix), matrix.rows);
  auto found = principal_components(*make_analysis(), set.points(), {}, [] { return true; });
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kInterrupted);
}

// A model of skewed rows, and what a derivation makes of it.
class Derive : public ::testing::Test {
 protected:
  void SetUp() override {
    std::mt19937_64 random = make_random(45);
    matrix_ = gaussian(3000, 8, random);
    for (int64_t i = 0; i < matrix_.rows; ++i)
      for (int64_t j = 0; j < 8; ++j)
        matrix_.row(i)[j] = static_cast<float>(j + 1) * matrix_.row(i)[j] + 2.0f;
    model_ = make_model(matrix_);
    const PointSet set = PointSet::first_rows(model_, matrix_.rows);
    auto found = principal_components(*analysis_, set.points(), {}, {});
    ASSERT_TRUE(found.ok());
    components_ = std::move(found.value());
  }

  ModelPtr derived(const DeriveOptions& options) {
    auto map = make_row_map(components_, options);
    EXPECT_TRUE(map.ok());
    auto model =
        derive_model(*analysis_, PointSet::first_rows(model_, matrix_.rows), map.value(), "derived", {});
    EXPECT_TRUE(model.ok());
    return model.value();
  }

  PrincipalComponents components_of(const ModelPtr& model) {
    const PointSet set = PointSet::first_rows(model, model->words());
    return std::move(principal_components(*analysis_, set.points(), {}, {}).value());
  }

  std::string message(const DeriveOptions& options) {
    auto map = make_row_map(components_, options);
    return map.ok() ? "ok" : map.error().message;
  }

  ::testing::ScopedTrace trace_{__FILE__, __LINE__, seed_text()};
  Matrix matrix_;
  ModelPtr model_;
  std::unique_ptr<Analysis> analysis_ = make_analysis();
  PrincipalComponents components_;
};

TEST_F(Derive, CentersAndKeepsTheWords) {
  const ModelPtr model = derived({.center = true});
  EXPECT_EQ(model->words(), 3000);
  EXPECT_EQ(model->vocabulary().word(17), "w17");
  EXPECT_EQ(model->path(), "derived");
  for (const float value : components_of(model).mean) EXPECT_NEAR(value, 0, 1e-5);
  for (int64_t j = 0; j < 8; ++j)
    EXPECT_EQ(model->vector(5)[j], matrix_.row(5)[j] - components_.mean[static_cast<size_t>(j)]);
}

TEST_F(Derive, KeepsIntegerKeys) {
  ModelBuilder builder("keys");
  for (int64_t row = 0; row < 10; ++row) ASSERT_TRUE(builder.add(100 - row, {matrix_.row(row), 8}).ok());
  const ModelPtr keys = builder.finish().value();
  const RowMap map = make_row_map(components_, {.center = true}).value();
  const ModelPtr model = derive_model(*analysis_, PointSet::first_rows(keys, 7), map, "derived", {}).value();
  EXPECT_EQ(model->words(), 7);
  EXPECT_EQ(model->vocabulary().key_type(), KeyType::kInteger);
  EXPECT_EQ(model->vocabulary().word(3), "97");
}

TEST_F(Derive, KeepsTheFrequenciesOfItsWords) {
  std::vector<double> counts(3000);
  for (size_t id = 0; id < counts.size(); ++id) counts[id] = static_cast<double>(id % 5);
  const ModelPtr counted = with_counts(model_, counts);
  const RowMap map = make_row_map(components_, {.center = true}).value();
  const auto counts_of = [&](std::vector<int32_t> ids) {
    const PointSet set = PointSet::chosen_rows(counted, std::move(ids));
    return derive_model(*analysis_, set, map, "derived", {}).value()->source().counts;
  };
  ASSERT_NE(counts_of({1, 17, 2998}), nullptr);
  EXPECT_EQ(*counts_of({1, 17, 2998}), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(counts_of({0, 5}), nullptr) << "no word of these occurs";
  EXPECT_EQ(derived({.center = true})->source().counts, nullptr);
}

TEST_F(Derive, MapsChosenRowsAndKeepsTheMap) {
  const ScopedFloatEnvironment environment;
  const RowMap map = make_row_map(components_, {.remove = 1, .dims = 4, .whiten = true}).value();
  const PointSet set = PointSet::chosen_rows(model_, {2, 17, 2999});
  const ModelPtr model = derive_model(*analysis_, set, map, "derived", {}).value();
  ASSERT_EQ(model->words(), 3);
  EXPECT_EQ(model->vocabulary().word(1), "w17");
  ASSERT_NE(model->derivation(), nullptr);
  EXPECT_EQ(model_->derivation(), nullptr);
  float z[4];
  model->derivation()->apply(matrix_.row(17), z);
  for (int64_t j = 0; j < 4; ++j) EXPECT_EQ(model->vector(1)[j], z[j]);
  const auto none = derive_model(*analysis_, PointSet::chosen_rows(model_, {}), map, "derived", {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "derived: there is no row to make a model of");
}

TEST_F(Derive, RemovesTheFirstComponents) {
  const PrincipalComponents left = components_of(derived({.remove = 2}));
  EXPECT_EQ(left.dims, 8);
  for (size_t c = 0; c < 6; ++c) EXPECT_NEAR(left.variances[c] / components_.variances[c + 2], 1, 1e-5);
  EXPECT_NEAR(left.variances[6], 0, 1e-8);
}

TEST_F(Derive, WhitensWhatIsLeft) {
  for (const DeriveOptions& options :
       {DeriveOptions{.whiten = true}, DeriveOptions{.remove = 1, .whiten = true},
        DeriveOptions{.remove = 1, .dims = 3, .whiten = true}}) {
    const PrincipalComponents white = components_of(derived(options));
    EXPECT_EQ(white.dims, options.dims > 0 ? options.dims : 8 - options.remove);
    for (const double variance : white.variances) EXPECT_NEAR(variance, 1, 1e-5);
  }
}

TEST_F(Derive, KeepsTheFirstDimensionsAndTheirDistances) {
  const PrincipalComponents kept = components_of(derived({.dims = 3}));
  EXPECT_EQ(kept.dims, 3);
  for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(kept.variances[c] / components_.variances[c], 1, 1e-5);
  EXPECT_GT(std::fabs(kept.mean[0]) + std::fabs(kept.mean[1]) + std::fabs(kept.mean[2]), 0.1);  // not centred
  const ModelPtr rotated = derived({.dims = 8});
  for (int64_t row = 0; row < 20; ++row)
    EXPECT_NEAR(rotated->norm_squared(row) / model_->norm_squared(row), 1, 1e-5);
}

TEST_F(Derive, Normalizes) {
  const ModelPtr model = derived({.center = true, .normalize = true});
  for (int64_t row = 0; row < model->words(); ++row) EXPECT_NEAR(model->norm_squared(row), 1, 1e-6);
}

TEST_F(Derive, MapsRowsTheSameWayEverywhere) {
  const ScopedFloatEnvironment environment;
  const PointSet set = PointSet::first_rows(model_, matrix_.rows);
  for (const DeriveOptions& options :
       {DeriveOptions{}, DeriveOptions{.center = true}, DeriveOptions{.remove = 3, .normalize = true},
        DeriveOptions{.dims = 5}, DeriveOptions{.whiten = true}}) {
    const RowMap map = make_row_map(components_, options).value();
    std::vector<float> expected(static_cast<size_t>(3000 * map.dims_out));
    for (int64_t row = 0; row < 3000; ++row)
      map.apply(matrix_.row(row), expected.data() + row * map.dims_out);
    for (const NamedAnalysis& variant : all_analyses({1, 2, 7})) {
      std::vector<float> mapped(expected.size());
      ASSERT_TRUE(variant.analysis->map_rows(set.points(), map, mapped, {}).ok());
      ASSERT_EQ(mapped, expected) << variant.name;
    }
  }
}

TEST_F(Derive, RefusesMoreComponentsThanThereAre) {
  EXPECT_EQ(message({.remove = 7}), "ok");
  EXPECT_EQ(message({.remove = 3, .dims = 5}), "ok");
  EXPECT_EQ(message({.remove = 4, .dims = 5}),
            "remove 4 and dims 5 need more than the 8 dimensions that the model has");
  EXPECT_EQ(message({.remove = 8}), "remove 8 and dims 0 need more than the 8 dimensions that the model has");
  EXPECT_EQ(message({.remove = -1}), "remove must not be negative, but is -1");
  EXPECT_EQ(message({.dims = -2}), "dims must not be negative, but is -2");
}

TEST_F(Derive, WhiteningLeavesComponentsWithoutVarianceAtZero) {
  Matrix flat{100, 2, std::vector<float>(200)};
  for (int64_t i = 0; i < 100; ++i) flat.row(i)[0] = flat.row(i)[1] = static_cast<float>(i);
  const PointSet set = PointSet::first_rows(make_model(flat), 100);
  const PrincipalComponents components = principal_components(*analysis_, set.points(), {}, {}).value();
  const RowMap map = make_row_map(components, {.whiten = true}).value();
  float z[2];
  map.apply(flat.row(3), z);
  EXPECT_TRUE(std::isfinite(z[0]));
  EXPECT_EQ(z[1], 0.0f);
}

}  // namespace
}  // namespace glove::test
