// How much of its work a test does.
#pragma once

#include <cstdint>

namespace glove::test {

// Sanitizers cost a factor of ten or more, so tests do that part less under them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kShare = 10;
#else
constexpr int64_t kShare = 1;
#endif

}  // namespace glove::test
