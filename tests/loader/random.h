// Fresh random data for every run; a failure prints the seed, and GLOVE_TEST_SEED repeats it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace glove::testing {

inline uint64_t test_seed() {
  static const uint64_t seed = [] {
    const char* fixed = std::getenv("GLOVE_TEST_SEED");
    return fixed != nullptr ? std::strtoull(fixed, nullptr, 10) : uint64_t{std::random_device{}()};
  }();
  return seed;
}

// Put GLOVE_TRACE_SEED() at the beginning of a test that uses random_source().
#define GLOVE_TRACE_SEED() \
  SCOPED_TRACE("repeat with GLOVE_TEST_SEED=" + std::to_string(::glove::testing::test_seed()))

inline std::mt19937_64 random_source() {
  return std::mt19937_64(test_seed());
}

}  // namespace glove::testing
