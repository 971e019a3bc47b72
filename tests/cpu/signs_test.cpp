// Searches with a certainty below 1: the law behind them, the sign plane and its bounds, and the answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "base/float_environment.h"
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/wide_query.h"
#include "cpu/search/plane_parts.h"
#include "cpu/search/sign_search.h"
#include "lists/half.h"
#include "lists/planes.h"
#include "lists/rotation.h"
#include "lists/sign_plane.h"
#include "model/exact_dot.h"
#include "model/row_map.h"
#include "tests/cpu/test_support.h"

namespace glove::cpu {
namespace {

using test::Matrix;

using Wide = std::vector<long double>;

long double product(const Wide& a, const Wide& b) {
  long double sum = 0;
  for (size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

// a += factor * b
void add(Wide& a, long double factor, const Wide& b) {
  for (size_t j = 0; j < a.size(); ++j) a[j] += factor * b[j];
}

Wide unit(Wide a) {
  const long double length = std::sqrt(product(a, a));
  if (length > 0)
    for (long double& one : a) one /= length;
  return a;
}

Wide widened(const float* x, int64_t dims) {
  return {x, x + dims};
}

// The probabilities that a component of a random unit vector of m dimensions is at most -1, -1 + step,
// ..., 1.
std::vector<double> law(int64_t m) {
  constexpr int kSteps = 20000;
  std::vector<double> sums = {0};
  for (int i = 0; i < kSteps; ++i) {
    const double x = -1 + (i + 0.5) * 2 / kSteps;
    sums.push_back(sums.back() + std::pow(1 - x * x, (static_cast<double>(m) - 3) / 2));
  }
  for (double& sum : sums) sum /= sums.back();
  return sums;
}

// Kolmogorov's distance of numbers from a law, times the root of their number: above 1.95 for one of 1,000
// samples that have the law.
double distance_from(std::vector<double> numbers, const std::vector<double>& sums) {
  std::ranges::sort(numbers);
  const auto steps = static_cast<double>(sums.size() - 1);
  double largest = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double at = (numbers[i] + 1) / 2 * steps;
    const auto below = std::min(static_cast<size_t>(at), sums.size() - 2);
    const double expected = std::lerp(sums[below], sums[below + 1], at - static_cast<double>(below));
    const auto count = static_cast<double>(numbers.size());
    largest = std::max({largest, std::abs(expected - static_cast<double>(i) / count),
                        std::abs(expected - static_cast<double>(i + 1) / count)});
  }
  return largest * std::sqrt(static_cast<double>(numbers.size()));
}

// A row's b = alpha m + s R^T c, and the parts of b - <u, b> u: `f` in the plane of u and m, and g.
struct Described {
  long double along;
  long double f;
  Wide g;
};
Described describe(const Wide& u, const Wide& m, std::span<const float> rotation, const bool* codes,
                   const PlaneBound& bound) {
  const auto dims = static_cast<int64_t>(u.size());
  Wide b(u.size());
  add(b, half_value(bound.centroid), m);
  for (int64_t o = 0; o < std::ssize(rotation) / dims; ++o)
    add(b, half_value(bound.code) * (codes[o] ? 1 : -1), widened(rotation.data() + o * dims, dims));
  Described row = {product(u, b), 0, b};
  add(row.g, -row.along, u);
  Wide n = m;
  add(n, -product(u, m), u);
  if (product(n, n) < 1e-12L) n.assign(n.size(), 0);
  n = unit(n);
  row.f = product(row.g, n);
  add(row.g, -row.f, n);
  return row;
}

std::vector<float> applied(const RowMap& map, const float* x) {
  std::vector<float> rotated(static_cast<size_t>(map.dims_out));
  map.apply(x, rotated.data());
  return rotated;
}

RowMap rotation_of(int64_t dims, uint64_t seed) {
  RowMap map;
  map.dims_in = map.dims_out = dims;
  map.matrix = random_rotation(dims, dims, seed, 1).value();
  return map;
}

// A unit vector near another one.
std::vector<float> near(const std::vector<float>& x, double noise, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, noise / std::sqrt(static_cast<double>(x.size())));
  Wide y(x.begin(), x.end());
  for (long double& one : y) one += normal(random);
  y = unit(y);
  return {y.begin(), y.end()};
}

TEST(Rotation, IsOrthonormalAndTheSameOnEveryMachine) {
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {2, 37, 260}) {
    const std::vector<float> rotation = random_rotation(dims, dims, 7, 2).value();
    EXPECT_EQ(rotation, random_rotation(dims, dims, 7, 1).value());
    EXPECT_NE(rotation, random_rotation(dims, dims, 8, 1).value());
    for (int64_t i = 0; i < dims; ++i)
      for (int64_t j = 0; j <= i; ++j)
        ASSERT_NEAR(exact_dot(rotation.data() + i * dims, rotation.data() + j * dims, dims), i == j, 1e-6);
  }
  const std::vector<float> four = random_rotation(4, 4, 1, 1).value();
  const std::vector<float> expected = {-0.061222143f, 0.93817955f, -0.084853686f, -0.32995576f};
  EXPECT_EQ(std::vector(four.begin(), four.begin() + 4), expected);
}

TEST(Rotation, FactorsAreUpperQuantiles) {
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {256, 257, 768, 1536, 4096}) {
    EXPECT_EQ(sign_factor(dims, 0), 1);
    // The integral of the density of Z, but for a factor.
    const auto integral = [dims](double from) {
      constexpr int kSteps = 5000;
      double sum = 0;
      for (int i = 0; i < kSteps; ++i) {
        const double x = from + (1 - from) * (i + 0.5) / kSteps;
        sum += std::pow(1 - x * x, static_cast<double>(dims - 5) / 2);
      }
      return sum * (1 - from) / kSteps;
    };
    const double whole = 2 * integral(0);
    for (const double failure : {1e-3, 1e-6, 1e-10, 1e-13, 1e-18}) {
      const auto z = static_cast<double>(sign_factor(dims, failure));
      EXPECT_LE(integral(z) / whole, failure) << dims << " dimensions";
      if (z > kLeastSignFactor) {
        EXPECT_GT(integral(z * 0.98) / whole, failure) << dims << " dimensions";
      }
    }
  }
}

// The theorem of docs/exactness.md: Z = <g, v> / (|g| |Qv|) over random rotations, for fixed rows.
TEST(Signs, ZHasItsLaw) {
  const ScopedFloatEnvironment environment;
  constexpr int64_t kFewDims = 24;
  constexpr int kSeeds = 3000;
  std::mt19937_64 random(1);
  const std::vector<float> m = near(std::vector<float>(kFewDims, 0.0f), 1, random);
  const std::vector<float> x = near(m, 0.9, random);
  const std::vector<float> v = near(x, 1.2, random);
  // The worst for codes that are not rotated: all signs of the rest are equal.
  const std::vector<float> even(kFewDims, 0.2f);
  std::vector<double> first, second, fewer;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const RowMap map = rotation_of(kFewDims, static_cast<uint64_t>(seed));
    const auto z_of = [&](const std::vector<float>& row, const std::vector<float>& query, int64_t bits) {
      bool codes[kFewDims];
      const std::vector<float> rotated = applied(map, row.data());
      const std::vector<float> rotated_m = applied(map, m.data());
      const double norm_squared = exact_dot(row.data(), row.data(), kFewDims);
      std::vector<float> rotated_unit = rotated;
      for (float& one : rotated_unit) one = static_cast<float>(one / std::sqrt(norm_squared));
      const PlaneBound bound = encode_signs({row.data(), rotated_unit.data(), norm_squared, m.data(),
                                             rotated_m.data(), exact_dot(m.data(), m.data(), kFewDims)},
                                            kFewDims, bits, codes);
      const Wide u = unit(widened(row.data(), kFewDims));
      const auto rows_of_rotation = std::span(map.matrix).first(static_cast<size_t>(bits * kFewDims));
      const Described b = describe(u, widened(m.data(), kFewDims), rows_of_rotation, codes, bound);
      Wide rest = unit(widened(query.data(), kFewDims));
      add(rest, -product(rest, u), u);
      Wide n = widened(m.data(), kFewDims);
      add(n, -product(n, u), u);
      n = unit(n);
      add(rest, -product(rest, n), n);
      return static_cast<double>(product(b.g, rest) / std::sqrt(product(b.g, b.g) * product(rest, rest)));
    };
    first.push_back(z_of(x, v, kFewDims));
    second.push_back(z_of(even, near(even, 0.5, random), kFewDims));
    fewer.push_back(z_of(x, v, kFewDims / 3));
  }
  EXPECT_LT(distance_from(fewer, law(kFewDims - 2)), 1.95);
  EXPECT_LT(distance_from(first, law(kFewDims - 2)), 1.95);
  EXPECT_LT(distance_from(second, law(kFewDims - 2)), 1.95);
  EXPECT_GT(distance_from(first, law(kFewDims + 8)), 1.95);  // the test can fail
}

// Rows of all kinds, in lists, with a sign plane.
ModelPtr signed_model(Matrix& matrix, int64_t lists, std::mt19937_64& random) {
  const int64_t rows = matrix.rows;
  if (rows > 40) {
    std::fill_n(matrix.row(rows / 2), matrix.dims, 0.0f);
    std::copy_n(matrix.row(3), matrix.dims, matrix.row(4));
    for (int64_t j = 0; j < matrix.dims; ++j) {
      matrix.row(5)[j] *= 1e-41f;
      matrix.row(6)[j] *= 1e37f;
      matrix.row(7)[j] = j == 0 ? 1.0f : 0.0f;
      matrix.row(8)[j] = 1.0f;
      matrix.row(9)[j] = -matrix.row(3)[j];
    }
  }
  return test::with_planes(test::make_model(matrix), lists, random, true);
}

// What docs/format.md promises of each row.
TEST(Signs, BoundsKeepTheirPromise) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(90);
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {256, 261, 300}) {
    Matrix matrix = test::clustered(120, dims, random);
    const ModelPtr model = signed_model(matrix, 12, random);
    const ModelPart& part = model->parts().front();
    const PlaneLevel& level = *part.planes;
    int64_t without = 0;
    for (int64_t list = 0; list < level.lists(); ++list)
      for (int64_t p = level.offsets[static_cast<size_t>(list)];
           p < level.offsets[static_cast<size_t>(list) + 1]; ++p) {
        const uint16_t* const at =
            level.sign_bounds.data() + p / kTileRows * kPlaneBounds * kTileRows + p % kTileRows;
        const PlaneBound bound = {at[0], at[kTileRows], at[2 * kTileRows]};
        const int64_t row = level.rows[static_cast<size_t>(p)];
        const double distance = half_value(bound.distance);
        if (part.norm_squared(row) == 0) {
          ASSERT_EQ(distance, 0);
          continue;
        }
        ASSERT_GT(distance, 0);
        without += std::isinf(distance);
        if (std::isinf(distance)) continue;
        const auto codes = std::make_unique<bool[]>(static_cast<size_t>(dims));
        for (int64_t j = 0; j < dims; ++j) {
          const SignPlace place = sign_place(p, j, dims);
          codes[static_cast<size_t>(j)] = level.signs[static_cast<size_t>(place.byte)] >> place.shift & 1;
        }
        const Described b =
            describe(unit(widened(part.vector(row), dims)),
                     widened(level.centroids.data() + list * dims, dims), level.rotation, codes.get(), bound);
        ASSERT_GE(b.along, 1) << "row " << row;
        ASSERT_LE(std::sqrt(product(b.g, b.g)) + std::abs(b.f) / kLeastSignFactor, distance) << "row " << row;
      }
    EXPECT_LE(without, 2);
  }
}

// With the factor 1 the bound is a proof, so that a scan returns every row unless its similarity is below the
// threshold; and estimates are those of the codes. On every target.
TEST(Signs, ScansKeepEveryRowAboveTheThreshold) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(91);
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {256, 287, 513}) {
    Matrix matrix = test::clustered(2 + static_cast<int64_t>(random() % 200), dims, random);
    const ModelPtr model = signed_model(matrix, 1 + static_cast<int64_t>(random() % 20), random);
    const ModelPart& part = model->parts().front();
    const Query query = test::make_query(matrix.row(matrix.rows - 1), dims);
    if (part.planes == nullptr || !(query.norm_squared > 0)) continue;
    const SplitQuery split = split_query(query.vector, query.norm_squared);
    const std::vector<double> wide = widen(query.vector);
    RowMap map;
    map.dims_in = map.dims_out = dims;
    map.matrix.assign(part.planes->rotation.begin(), part.planes->rotation.end());
    const SplitQuery rotated = split_query(applied(map, query.vector.data()), query.norm_squared);
    const PlaneLine line = upper_line(rotated.high.bound, rotated.high.scale, rotated.high.code_sum, 1, dims);
    for (const float threshold : {-std::numeric_limits<float>::infinity(), 0.01f, 0.3f, 0.9f, 1.0f}) {
      std::vector<Survivor> plain;
      for (const Kernels* kernels : usable_kernels()) {
        const PlaneParts parts({*kernels, *model, 1}, query, wide.data(), split);
        std::vector<int8_t> codes;
        kernels->signs->pack(rotated, dims, codes);
        std::vector<Survivor> survivors(static_cast<size_t>(tile_count(part.rows) * kTileRows));
        const int64_t count =
            kernels->signs->scan(part, 0, tile_count(part.rows), {codes, parts.query(0).products, 0, line, 1},
                                 threshold, survivors.data());
        survivors.resize(static_cast<size_t>(count));
        std::ranges::sort(survivors, std::less<>(), &Survivor::row);
        if (kernels->name == "scalar") plain = survivors;
        auto kept = survivors.begin();
        for (int64_t row = 0; row < part.rows; ++row) {
          const double norm_squared = model->norm_squared(row);
          const bool is_kept = kept != survivors.end() && kept->row == row;
          const Survivor survivor = is_kept ? *kept++ : Survivor();
          if (norm_squared == 0) {
            ASSERT_FALSE(is_kept);
            continue;
          }
          const double similarity =
              cosine_from_dots(test::reference_dot(query.vector.data(), matrix.row(row), dims),
                               query.norm_squared, norm_squared);
          ASSERT_TRUE(is_kept || similarity < threshold)
              << kernels->name << ", " << dims << " dimensions, row " << row << ", threshold " << threshold;
          if (!is_kept) continue;
          ASSERT_GE(survivor.upper, similarity) << kernels->name << ", row " << row;
        }
        ASSERT_EQ(kept, survivors.end());
        // Roundings may differ where a bound is at the threshold.
        ASSERT_NEAR(static_cast<double>(survivors.size()), static_cast<double>(plain.size()), 2)
            << kernels->name;
        for (const Survivor& one : plain) {
          const auto same = std::ranges::lower_bound(survivors, one.row, std::less<>(), &Survivor::row);
          if (same == survivors.end() || same->row != one.row) continue;
          ASSERT_NEAR(same->estimate, one.estimate, 1e-5) << kernels->name << ", row " << one.row;
        }
      }
    }
  }
}

TEST(Signs, ProductsOfCentroidsAreOffByLess) {
  SCOPED_TRACE(test::seed_text());
  std::mt19937_64 random = test::make_random(94);
  const ScopedFloatEnvironment environment;
  for (const int64_t dims : {256, 301, 4096}) {
    Matrix centroids = test::gaussian(50, dims, random);
    for (int64_t j = 0; j < dims; ++j) {
      centroids.row(1)[j] *= 1e-18f;
      centroids.row(2)[j] = j == 5 ? -2.0f : 0.0f;
      centroids.row(3)[j] = 1;
      centroids.row(4)[j] = 0;
    }
    const ListCodes lists = encode_centroids(centroids.values, dims);
    const ModelPtr model = test::make_model(centroids);
    double longest = 0;
    for (int64_t i = 0; i < centroids.rows; ++i)
      longest = std::max(longest, std::sqrt(model->norm_squared(i)));
    for (int64_t row = 0; row < 10; ++row) {
      const Query query = test::make_query(centroids.row(row), dims);
      if (!(query.norm_squared > 0)) continue;
      for (const Kernels* kernels : usable_kernels()) {
        const ListProducts made = coded_products({*kernels, *model, 1}, lists, query);
        for (int64_t i = 0; i < centroids.rows; ++i) {
          const double exact = test::reference_dot(centroids.row(i), query.vector.data(), dims) /
                               std::sqrt(query.norm_squared);
          ASSERT_LE(std::abs(made.products[static_cast<size_t>(i)] - exact), made.off)
              << kernels->name << ", centroid " << i;
          ASSERT_LE(made.off, 0.5 * longest) << kernels->name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace glove::cpu
