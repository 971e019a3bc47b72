// Compares digests with those that Python's hashlib.blake2b(..., digest_size=16) makes.
#include "live/blake2b.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace glove {
namespace {

std::string hexadecimal(const Digest128& digest) {
  std::string text;
  for (const uint8_t byte : digest) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

TEST(Blake2b, IsThatOfTheRfc) {
  EXPECT_EQ(hexadecimal(blake2b_128("")), "cae66941d9efbd404e4d88758ea67670");
  EXPECT_EQ(hexadecimal(blake2b_128("abc")), "cf4ab791c62b8d2b2109c90275287816");
  EXPECT_EQ(hexadecimal(blake2b_128(std::string(128, 'x'))), "874acca82a22239ec64a3e70c3ae494e");
  EXPECT_EQ(hexadecimal(blake2b_128(std::string(129, 'x'))), "b9ee96f69e8210c624fee55d71d5a54f");
  EXPECT_EQ(hexadecimal(blake2b_128(std::string(1000, 'x'))), "c9b2bd4ff487864c29fb41fab3e8187e");
}

}  // namespace
}  // namespace glove
