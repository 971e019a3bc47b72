// How much of its work a test does.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace glove::test {

// Sanitizers cost a factor of ten or more, so tests do that part less under them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kShare = 10;
#else
constexpr int64_t kShare = 1;
#endif

// tests/run.sh sets GLOVE_TEST_SHORT unless it is called with --all: then tests of about a second or more do
// a fifth.
inline const int64_t kShortStep = std::getenv("GLOVE_TEST_SHORT") == nullptr ? 1 : 5;
inline const int64_t kShortShare = kShare * kShortStep;

}  // namespace glove::test
