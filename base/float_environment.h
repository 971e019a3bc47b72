// The floating-point control word that every bit of this project's arithmetic
// assumes: round to nearest, denormals kept (no DAZ, no FTZ), no traps.
#pragma once

#include <cfenv>
#include <cstdint>
#if defined(__SSE__) || defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace glove {

// Host processes do run with other settings (a library built with -ffast-math
// sets DAZ and FTZ for the thread that loads it). Hold one of these at every
// entry of the engine and at the start of every thread it owns; the destructor
// puts the caller's settings back. Where they are right already, which is nearly
// always, nothing is written: loading the x87 state costs more than a row of SQL.
class ScopedFloatEnvironment {
 public:
#if defined(__aarch64__)
  ScopedFloatEnvironment() : saved_(fpcr()) {
    if (saved_ != kStandardFpcr) set_fpcr(kStandardFpcr);
  }
  ~ScopedFloatEnvironment() {
    if (saved_ != kStandardFpcr) set_fpcr(saved_);
  }
#else
  ScopedFloatEnvironment() : changed_(!is_standard()) {
    if (!changed_) return;
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
#if defined(__SSE__) || defined(__x86_64__)
    _mm_setcsr(kStandardMxcsr);  // glibc's FE_DFL_ENV leaves DAZ and FTZ as they were on some versions
#endif
  }
  ~ScopedFloatEnvironment() {
    if (changed_) std::fesetenv(&saved_);
  }
#endif
  ScopedFloatEnvironment(const ScopedFloatEnvironment&) = delete;
  ScopedFloatEnvironment& operator=(const ScopedFloatEnvironment&) = delete;

 private:
#if defined(__aarch64__)
  // The whole register: the C library's FE_DFL_ENV leaves the bits that its version holds for reserved as
  // they were.
  static constexpr uint64_t kStandardFpcr = 0;

  static uint64_t fpcr() {
    uint64_t value = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void set_fpcr(uint64_t value) {
    __asm__ volatile("msr fpcr, %0" : : "r"(value) : "memory");
  }

  uint64_t saved_;
#else
#if defined(__x86_64__)
  static constexpr unsigned kStandardMxcsr = 0x1F80;
  static constexpr unsigned kExceptionFlags = 0x3F;  // what has happened, not a setting
  static constexpr unsigned short kStandardX87 = 0x37F;

  static bool is_standard() {
    unsigned short x87 = 0;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return (_mm_getcsr() & ~kExceptionFlags) == kStandardMxcsr && x87 == kStandardX87;
  }
#else
  static constexpr unsigned kStandardMxcsr = 0x1F80;
  static bool is_standard() {
    return false;
  }
#endif

  bool changed_;
  std::fenv_t saved_;
#endif
};

}  // namespace glove
