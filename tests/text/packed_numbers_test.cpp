// Packs random tables and unpacks them again.
#include "text/packed_numbers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "tests/loader/random.h"

namespace glove {
namespace {

std::vector<uint8_t> pack(const std::vector<uint32_t>& numbers, size_t columns) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const uint32_t difference = numbers[i] - (i < columns ? 0 : numbers[i - columns]);
    uint32_t rest = difference < 0x80000000u ? 2 * difference : 2 * ~difference + 1;
    for (; rest >= 128; rest >>= 7) bytes.push_back(static_cast<uint8_t>(128 | (rest & 127)));
    bytes.push_back(static_cast<uint8_t>(rest));
  }
  return bytes;
}

TEST(PackedNumbers, Unpacked) {
  EXPECT_TRUE(unpack_numbers({}, 3).empty());
  // 5, 300 and 4, 300 + 64.
  const std::vector<uint8_t> bytes = {10, 0xd8, 4, 1, 0x80, 1};
  EXPECT_EQ(unpack_numbers(bytes, 2), (std::vector<uint32_t>{5, 300, 4, 364}));
}

TEST(PackedNumbers, ComeBack) {
  GLOVE_TRACE_SEED();
  auto random = testing::random_source();
  for (const size_t columns : {1, 2, 3, 7}) {
    std::vector<uint32_t> numbers;
    for (size_t i = 0; i < 300 * columns; ++i) {
      const auto number = static_cast<uint32_t>(random() >> (random() % 32));
      numbers.push_back(i % 97 == 0 ? std::numeric_limits<uint32_t>::max() * (number & 1) : number);
    }
    EXPECT_EQ(unpack_numbers(pack(numbers, columns), columns), numbers) << columns;
  }
}

}  // namespace
}  // namespace glove
