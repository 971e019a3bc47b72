// The fast paths against plain ones, bit for bit, on random data.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "base/crc32.h"
#include "model/exact_dot.h"
#include "model/quantize.h"
#include "model/word_set.h"
#include "tests/loader/random.h"

namespace glove {
namespace {

TEST(Crc32, IsZlibs) {
  GLOVE_TRACE_SEED();
  auto random = testing::random_source();
  std::string bytes(20000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  const auto zlib = [](uint32_t crc, const std::string& text) {
    return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(text.data()), text.size()));
  };
  EXPECT_EQ(crc32_continue(0, std::string("123456789")), 0xCBF43926u);
  for (size_t length = 0; length < 700; ++length) {
    const std::string piece = bytes.substr(random() % 100, length);
    const auto before = static_cast<uint32_t>(random());
    ASSERT_EQ(crc32_continue(before, piece), zlib(before, piece)) << length;
  }
  for (int i = 0; i < 200; ++i) {
    const std::string piece = bytes.substr(random() % 1000, random() % 19000);
    const size_t cut = random() % (piece.size() + 1);
    const uint32_t first = crc32_continue(0, piece.substr(0, cut));
    ASSERT_EQ(crc32_continue(first, piece.substr(cut)), zlib(0, piece)) << piece.size() << " at " << cut;
  }
}

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

TEST(Quantize, TheFastPathGivesThePlainOnesBits) {
  GLOVE_TRACE_SEED();
  auto random = testing::random_source();
  for (int i = 0; i < 20000; ++i) {
    const int64_t dims = 1 + static_cast<int64_t>(random() % (i % 100 == 0 ? 1000 : 70));
    const std::vector<float> row = random_row(random, dims);
    const double norm_squared = exact_dot(row.data(), row.data(), dims);
    const int64_t stride = i % 2 == 0 ? kTileComponents : kTileRows * kTileComponents;
    const auto bytes = static_cast<size_t>(component_groups(dims) * stride);
    std::vector<int8_t> fast(bytes, 99), plain(bytes, 99);  // what is not written stays
    float results[4] = {};
    quantize_row(row.data(), norm_squared, dims, fast.data(), stride, results[0], results[1]);
    quantize_row_plain(row.data(), norm_squared, dims, plain.data(), stride, results[2], results[3]);
    ASSERT_EQ(fast, plain) << dims;
    ASSERT_EQ(std::memcmp(&results[0], &results[2], 2 * sizeof(float)), 0) << dims;
  }
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
  for (const int threads : {0, 1, 2, 3, 5, 64}) EXPECT_TRUE(words.sorted_ids(threads) == plain) << threads;
}

}  // namespace
}  // namespace glove
