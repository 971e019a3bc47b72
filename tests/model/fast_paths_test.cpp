// Compares the fast paths with plain ones, bit for bit, on random data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/float_environment.h"
#include "model/derived_arrays.h"
#include "model/exact_dot.h"
#include "model/nibbles.h"
#include "model/quantize.h"
#include "model/vocabulary.h"
#include "model/word_set.h"
#include "tests/loader/random.h"
#include "tests/share.h"

namespace glove {
namespace {

// Rows of every awkward kind: long and short, huge and tiny numbers, denormals, equal ones, one that is not
// zero.
std::vector<float> random_row(std::mt19937_64& random, int64_t dims) {
  std::vector<float> row(static_cast<size_t>(dims));
  const int kind = static_cast<int>(random() % 6);
  const int exponent = static_cast<int>(random() % 250) - 125;
  std::normal_distribution<float> normal;
  for (float& x : row) {
    x = normal(random);
    if (kind == 1) x = std::ldexp(x, exponent);
    if (kind == 2) x = std::ldexp(x, static_cast<int>(random() % 270) - 149);
    if (kind == 3) x = random() % 2 != 0 ? 0.25f : -0.25f;
    if (kind == 4) x = 0.0f;
    if (kind == 5) x = static_cast<float>(static_cast<int>(random() % 255) - 127) + 0.5f;
    if (!std::isfinite(x)) x = 1.0f;
  }
  if (kind == 4 && random() % 4 != 0) row[random() % row.size()] = std::ldexp(-1.0f, exponent);
  return row;
}

TEST(ExactDot, TheFastPathReturnsThePlainOnesBits) {
  GLOVE_TRACE_SEED();
  auto random = testing::random_source();
  for (int i = 0; i < 20000; ++i) {
    const int64_t dims = 1 + static_cast<int64_t>(random() % (i % 100 == 0 ? 1000 : 70));
    std::vector<float> a = random_row(random, dims);
    std::vector<float> b = random_row(random, dims);
    if (i % 50 == 0) a[random() % a.size()] = std::numeric_limits<float>::infinity();
    const double fast = exact_dot(a.data(), b.data(), dims);
    const double plain = exact_dot(std::vector<double>(a.begin(), a.end()).data(), b.data(), dims);
    if (std::isnan(plain))
      ASSERT_TRUE(std::isnan(fast)) << dims;
    else
      ASSERT_EQ(std::memcmp(&fast, &plain, sizeof(double)), 0) << dims;
  }
}

TEST(Quantize, TheFastPathGivesThePlainOnesBits) {
  GLOVE_TRACE_SEED();
  auto random = testing::random_source();
  for (int i = 0; i < 20000; ++i) {
    const int64_t dims = 1 + static_cast<int64_t>(random() % (i % 100 == 0 ? 1000 : 70));
    const std::vector<float> row = random_row(random, dims);
    const double norm_squared = exact_dot(row.data(), row.data(), dims);
    const int64_t stride = i % 2 == 0 ? kTileComponents : kTileRows * kTileComponents;
    const auto bytes = static_cast<size_t>(component_groups(dims) * stride);
    std::vector<int8_t> fast(bytes, 99), plain(bytes, 99);  // bytes that nobody writes stay 99
    float results[4] = {};
    quantize_row(row.data(), norm_squared, dims, fast.data(), stride, results[0], results[1]);
    quantize_row_plain(row.data(), norm_squared, dims, plain.data(), stride, results[2], results[3]);
    ASSERT_EQ(fast, plain) << dims;
    ASSERT_EQ(std::memcmp(&results[0], &results[2], 2 * sizeof(float)), 0) << dims;
  }
}

// The residual is checked against the codes in long double, and every bit against the plain path.
TEST(Nibbles, TheFastPathGivesThePlainOnesBitsAndCodes) {
  GLOVE_TRACE_SEED();
  auto random = testing::random_source();
  const ScopedFloatEnvironment environment;
  for (int i = 0; i < 20000; ++i) {
    const int64_t dims = 1 + static_cast<int64_t>(random() % (i % 100 == 0 ? 1000 : 70));
    std::vector<float> row = random_row(random, dims);
    if (i % 50 == 0) std::fill(row.begin(), row.end(), 0.0f);
    if (i % 50 == 1) std::fill(row.begin(), row.end(), 1e30f);
    if (i % 50 == 2) row.back() = 1e-45f;
    const double norm_squared = exact_dot(row.data(), row.data(), dims);
    const int64_t stride = i % 2 == 0 ? kNibbleWordBytes : kTileRows * kNibbleWordBytes;
    const auto bytes = static_cast<size_t>(nibble_words(dims) * stride);
    std::vector<int8_t> fast(bytes, 99), plain(bytes, 99);  // bytes that nobody writes stay 99
    float results[4] = {};
    quantize_row_nibbles(row.data(), norm_squared, dims, fast.data(), stride, results[0], results[1]);
    quantize_row_nibbles_plain(row.data(), norm_squared, dims, plain.data(), stride, results[2], results[3]);
    ASSERT_EQ(fast, plain) << dims;
    ASSERT_EQ(std::memcmp(&results[0], &results[2], 2 * sizeof(float)), 0) << dims;

    long double distance = 0;
    for (int64_t j = 0; j < nibble_words(dims) * kNibbleGroup; ++j) {
      const int8_t byte =
          fast[static_cast<size_t>(j / kNibbleGroup * stride + j % kNibbleGroup % kNibbleWordBytes)];
      const int code = nibble_code(byte, j);
      if (j >= dims || norm_squared == 0) {
        ASSERT_EQ(code, -15) << j;
        continue;
      }
      const long double u = row[static_cast<size_t>(j)] / std::sqrt(static_cast<long double>(norm_squared));
      distance += std::pow(u - static_cast<long double>(results[0]) * code, 2.0L);
    }
    if (norm_squared == 0) {
      ASSERT_EQ(results[0], 0.0f);
      ASSERT_TRUE(std::isinf(results[1]));
      continue;
    }
    ASSERT_GT(results[0], 0.0f);
    ASSERT_LE(std::sqrt(distance), results[1]) << dims;
    ASSERT_LT(results[1], 1.0f) << dims;
  }
}

// Rows of independent normal components: what the scan's cost depends on.
TEST(Nibbles, TheResidualOfARandomRowIsAboutATenth) {
  GLOVE_TRACE_SEED();
  auto random = testing::random_source();
  const ScopedFloatEnvironment environment;
  std::normal_distribution<float> normal;
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<float> row(300);
    for (float& x : row) x = normal(random);
    std::vector<int8_t> codes(static_cast<size_t>(nibble_words(300) * kNibbleWordBytes));
    float scale = 0, residual = 0;
    quantize_row_nibbles(row.data(), exact_dot(row.data(), row.data(), 300), 300, codes.data(),
                         kNibbleWordBytes, scale, residual);
    sum += static_cast<double>(residual);
  }
  EXPECT_NEAR(sum / 1000, 0.104, 0.003);
}

// Checks that row `row` of both levels is what the plain quantisers return, and lies at its place.
void expect_derived_row(const DerivedArrays& derived, const MemorySink& codes8, const MemorySink& codes4,
                        int64_t row, const float* x, int64_t dims) {
  const auto i = static_cast<size_t>(row);
  const double norm_squared = exact_dot(x, x, dims);
  ASSERT_EQ(derived.norms_squared()[i], norm_squared);
  std::vector<int8_t> plain(static_cast<size_t>(nibble_words(dims) * kNibbleGroup));
  float scale = 0, residual = 0;
  quantize_row_plain(x, norm_squared, dims, plain.data(), kTileComponents, scale, residual);
  ASSERT_EQ(derived.level8().scales()[i], scale);
  ASSERT_EQ(derived.level8().residuals()[i], residual);
  for (int64_t j = 0; j < dims; ++j)
    ASSERT_EQ(codes8.view<int8_t>()[static_cast<size_t>(code_index(row, j, dims))],
              plain[static_cast<size_t>(j)]);
  quantize_row_nibbles_plain(x, norm_squared, dims, plain.data(), kNibbleWordBytes, scale, residual);
  ASSERT_EQ(derived.level4().scales()[i], scale);
  ASSERT_EQ(derived.level4().residuals()[i], residual);
  for (int64_t j = 0; j < nibble_words(dims) * kNibbleGroup; ++j)
    ASSERT_EQ(nibble_code(codes4.view<int8_t>()[static_cast<size_t>(nibble_index(row, j, dims))], j),
              nibble_code(
                  plain[static_cast<size_t>(j / kNibbleGroup * kNibbleWordBytes + j % kNibbleWordBytes)], j));
}

// There are more vectors than are derived at once.
TEST(DerivedArrays, LayOutTilesOfAnyNumberOfRows) {
  GLOVE_TRACE_SEED();
  auto random = testing::random_source();
  const ScopedFloatEnvironment environment;
  for (const auto& [rows, dims] : {std::pair<int64_t, int64_t>{1, 1},
                                   {33, 7},
                                   {100'003 / test::kShare, 50},
                                   {test::kShare == 1 ? 130 : 34, 65'536}}) {
    std::vector<float> vectors(static_cast<size_t>(rows * dims));
    for (float& x : vectors) x = static_cast<float>(random() % 2001) - 1000;
    MemorySink codes8, codes4;
    DerivedArrays derived(codes8, codes4);
    ASSERT_TRUE(derived.append_vectors("test", vectors, dims, 2).ok());
    ASSERT_TRUE(derived.finish().ok());
    ASSERT_EQ(derived.rows(), rows);
    ASSERT_EQ(static_cast<int64_t>(codes8.view<int8_t>().size()), code_bytes(rows, dims));
    ASSERT_EQ(static_cast<int64_t>(codes4.view<int8_t>().size()), nibble_bytes(rows, dims));
    for (int64_t row = 0; row<rows; row += rows> 1000 ? 997 : 1)
      expect_derived_row(derived, codes8, codes4, row, vectors.data() + row * dims, dims);
    vectors[vectors.size() / 2] = NAN;
    MemorySink unused;
    EXPECT_EQ(DerivedArrays(unused, unused).append_vectors("test", vectors, dims, 2).error().message,
              "test: row " + std::to_string(static_cast<int64_t>(vectors.size() / 2) / dims + 1) +
                  " of the vectors has a component that is NaN or infinite");
  }
}

// Offsets as a damaged file may have them: words that are equal, empty or impossible.
TEST(WordOrder, OfDamagedWordsIsThePlainOne) {
  GLOVE_TRACE_SEED();
  auto random = testing::random_source();
  for (int round = 0; round < 20; round += test::kShare == 1 ? 1 : 3) {
    std::vector<char> bytes(1000);
    for (char& byte : bytes) byte = static_cast<char>(random() % 3);
    std::vector<int64_t> offsets(round < 10 ? 500 : 120'000);
    for (int64_t& offset : offsets) offset = static_cast<int64_t>(random() % 1100) - 50;
    const Vocabulary words(bytes, offsets, {});
    std::vector<int32_t> plain(offsets.size() - 1);
    std::iota(plain.begin(), plain.end(), 0);
    std::stable_sort(plain.begin(), plain.end(),
                     [&](int32_t a, int32_t b) { return words.word(a) < words.word(b); });
    EXPECT_TRUE(sorted_word_ids(bytes, offsets, 1 + round % 4).value() == plain);
  }
  EXPECT_TRUE(sorted_word_ids({}, {}, 1).value().empty());
}

// Enough words for five threads; many are equal in their first eight bytes, or in all but NULs at the end.
TEST(WordSet, TheSortOnAnyNumberOfThreadsIsThePlainOne) {
  GLOVE_TRACE_SEED();
  auto random = testing::random_source();
  const std::string prefixes[] = {"", "prefix", "prefix8b", std::string("\xFF\0", 2)};
  WordSet words;
  while (words.size() < 260'000) {
    std::string word = prefixes[random() % 4] + std::to_string(random() % 1'000'000);
    word.append(random() % 3, '\0');
    words.insert(word);
  }
  std::vector<int32_t> plain(static_cast<size_t>(words.size()));
  std::iota(plain.begin(), plain.end(), 0);
  std::sort(plain.begin(), plain.end(), [&](int32_t a, int32_t b) { return words.word(a) < words.word(b); });
  for (const int threads : test::kShare == 1 ? std::vector{0, 1, 2, 3, 5, 64} : std::vector{0, 3})
    EXPECT_TRUE(words.sorted_ids(threads).value() == plain) << threads;
  const std::string last(words.word(words.size() - 1));
  EXPECT_TRUE(words.contains(last));
  words.drop_index();
  EXPECT_EQ(words.word(words.size() - 1), last);
  EXPECT_TRUE(words.sorted_ids().value() == plain);
}

}  // namespace
}  // namespace glove
