// Random numbers that are the same on every machine.
#pragma once

#include <cstdint>

#include "base/require.h"

namespace glove {

// SplitMix64 (Steele, Lea and Flood 2014).
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // A number in [0, bound). The bias is at most bound / 2^64. REQUIRES: bound > 0.
  uint64_t below(uint64_t bound) {
    GLOVE_REQUIRE(bound > 0);
    return next() % bound;
  }

 private:
  uint64_t state_;
};

}  // namespace glove
