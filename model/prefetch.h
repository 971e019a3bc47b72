// Fetches from memory what somebody reads soon.
#pragma once

#include <cstdint>

namespace glove {

// Fetches numbers that lie together. Always inline, because GCC drops calls of functions that only prefetch.
template <class Number>
[[gnu::always_inline]] inline void prefetch(const Number* numbers, int64_t count) {
  constexpr auto kLine = static_cast<int64_t>(64 / sizeof(Number));
  for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(numbers + i);
}

}  // namespace glove
