// Signs of BLOBs of other types than float32: found in these, and in no ordinary vectors.
#include "sql/values/blob_type.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace glove::sql {
namespace {

using Vector = std::vector<float>;

// The bytes of the numbers as if they were float32.
template <class Number>
Vector as_floats(const std::vector<Number>& numbers) {
  Vector vector(numbers.size() * sizeof(Number) / sizeof(float));
  std::memcpy(vector.data(), numbers.data(), vector.size() * sizeof(float));
  return vector;
}

// Rounds towards zero; exact for the normal numbers of float16.
uint16_t half_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const int exponent = static_cast<int>(bits >> 23 & 255) - 112;
  if (exponent < 1) return static_cast<uint16_t>(bits >> 16 & 0x8000U);
  return static_cast<uint16_t>((bits >> 16 & 0x8000U) | static_cast<uint32_t>(exponent) << 10 |
                               (bits >> 13 & 1023U));
}

class BlobTypeTest : public ::testing::Test {
 protected:
  double normal() { return std::normal_distribution<double>()(random_); }
  int64_t below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random_); }

  template <class Number>
  std::vector<Number> numbers(int dims, const std::function<double()>& next) {
    std::vector<Number> made(static_cast<size_t>(dims));
    for (Number& one : made) one = static_cast<Number>(next());
    return made;
  }

  static std::string verdict(const std::function<Vector()>& next) {
    BlobTypes types;
    for (int row = 0; row < 100; ++row) types.add(next());
    const Status status = types.check("doc_vec", "");
    return status.ok() ? "" : status.error().message;
  }

  std::mt19937_64 random_{7};
};

TEST_F(BlobTypeTest, Float64IsNamed) {
  for (const int dims : {16, 384, 1536}) {
    const auto full = [&] { return as_floats(numbers<double>(dims, [this] { return normal() / 20; })); };
    const auto widened = [&] {
      return as_floats(numbers<double>(dims, [this] { return static_cast<float>(normal() / 20); }));
    };
    EXPECT_NE(verdict(full).find("look like float64, of 8 bytes per component"), std::string::npos) << dims;
    EXPECT_NE(verdict(widened).find("look like float64"), std::string::npos) << dims;
    EXPECT_TRUE(has_widened_floats(widened())) << dims;
  }
}

TEST_F(BlobTypeTest, Float16IsNamed) {
  for (const int dims : {64, 384, 1536}) {
    const auto halves = [&] {
      std::vector<uint16_t> made;
      for (const float one : numbers<float>(dims, [this] { return normal() / 20; }))
        made.push_back(half_of(one));
      return as_floats(made);
    };
    EXPECT_NE(verdict(halves).find("look like float16, of 2 bytes per component"), std::string::npos) << dims;
  }
}

// A million rows: 100 in each of 10,000 columns.
TEST_F(BlobTypeTest, NoAlarmForOrdinaryVectors) {
  const std::vector<std::function<double()>> kinds = {
      [this] { return normal(); },
      [this] { return normal() * std::exp2(normal() * 3); },
      [this] { return below(10) == 0 ? normal() : 0; },  // sparse
      [this] { return below(2) == 0 ? normal() : 0; },
      [this] { return below(16) == 0 ? 1 : 0; },  // one-hot
      [this] { return static_cast<double>(below(256)); },
      [this] { return static_cast<double>(below(5) - 2); },
      [this] { return std::floor(std::exp(static_cast<double>(below(16)))); },  // counts
      [this] { return below(4) == 0 ? 50000.0 + static_cast<double>(below(1000)) : 1; },
      [this] {
        return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(normal())) & 0xffff0000U);
      },
  };
  for (int column = 0; column < 10'000; ++column) {
    const auto& kind = kinds[static_cast<size_t>(column) % kinds.size()];
    const auto next = [&] { return numbers<float>(8 + column % 9, kind); };
    ASSERT_EQ(verdict(next), "") << column;
    for (int row = 0; row < 10; ++row) ASSERT_FALSE(has_widened_floats(next())) << column;
  }
}

// Half of the rows are not most of them.
TEST_F(BlobTypeTest, AFewRowsOfAnotherTypeAreNoSign) {
  int row = 0;
  const auto next = [&] {
    return ++row % 2 == 0 ? as_floats(numbers<double>(16, [this] { return normal(); }))
                          : numbers<float>(32, [this] { return normal(); });
  };
  EXPECT_EQ(verdict(next), "");
}

}  // namespace
}  // namespace glove::sql
