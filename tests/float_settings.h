// This thread's floating-point settings, as a host process may have changed them. GLOVE_HAS_FLOAT_SETTINGS is
// defined where they are known.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace glove::host {

#if defined(__x86_64__)
#define GLOVE_HAS_FLOAT_SETTINGS 1
constexpr uint64_t kStandard = 0x1F80;
constexpr uint64_t kDenormalsFlushed = 0x8040;  // FTZ and DAZ
constexpr uint64_t kRoundUp = 0x4000;

inline uint64_t float_settings() {
  return _mm_getcsr() & 0xFFC0;  // not what has happened
}
inline void set_float_settings(uint64_t settings) {
  _mm_setcsr(static_cast<unsigned>(settings));
}
#elif defined(__aarch64__)
#define GLOVE_HAS_FLOAT_SETTINGS 1
constexpr uint64_t kStandard = 0;
constexpr uint64_t kDenormalsFlushed = uint64_t{1} << 24;  // FZ
constexpr uint64_t kRoundUp = uint64_t{1} << 22;

inline uint64_t float_settings() {
  uint64_t settings = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(settings) : : "memory");
  return settings;
}
inline void set_float_settings(uint64_t settings) {
  __asm__ volatile("msr fpcr, %0" : : "r"(settings) : "memory");
}
#endif

}  // namespace glove::host
