// Compares the checksum of every fast path with zlib's, on random data.
#include "base/crc32.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

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
  EXPECT_EQ(crc32_continue(0xCBF43926u, {}), 0xCBF43926u);
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

}  // namespace
}  // namespace glove
