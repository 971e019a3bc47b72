// Vectors of eight doubles or sixteen floats; the compiler splits them where the machine has shorter ones.
#pragma once

#include <cstring>

namespace glove::labs {

using Doubles = double __attribute__((vector_size(64)));
using Floats = float __attribute__((vector_size(64)));
constexpr int kDoubles = 8;
constexpr int kFloats = 16;

template <class V, class T>
inline V load(const T* from) {
  V value;
  std::memcpy(&value, from, sizeof(V));
  return value;
}

template <class V, class T>
inline void store(V value, T* to) {
  std::memcpy(to, &value, sizeof(V));
}

// Stores past the caches. REQUIRES: `to` is a multiple of 64 bytes.
inline void store_past_caches(Floats value, float* to) {
#if defined(__AVX512F__)
  __builtin_ia32_movntps512(to, value);
#else
  store(value, to);
#endif
}

}  // namespace glove::labs
