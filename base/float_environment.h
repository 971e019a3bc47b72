// The floating-point control word that all arithmetic of this project assumes: round to nearest, keep
// denormals (no DAZ, no FTZ), no traps.
#pragma once

#include <cfenv>
#include <cstdint>
#if defined(__SSE__) || defined(__x86_64__)
#include <xmmintrin.h>

#endif

namespace glove {

// Some host processes run with other settings (a library built with -ffast-math sets DAZ and FTZ for the
// thread that loads it). Hold one of these at every entry point of search/ and at the start of every
// thread it owns; the destructor restores the caller's settings. If they are already right, which is almost
// always the case, nothing is written: loading the x87 state costs more than a row of SQL.
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
    _mm_setcsr(kStandardMxcsr);  // some versions of glibc's FE_DFL_ENV do not change DAZ and FTZ
#endif
  }
  ~ScopedFloatEnvironment() {
    if (changed_) std::fesetenv(&saved_);
  }
#endif
  ScopedFloatEnvironment(const ScopedFloatEnvironment&) = delete;
  ScopedFloatEnvironment& operator=(const ScopedFloatEnvironment&) = delete;

  // Whether the thread has these settings now; true where that cannot be asked. For GLOVE_REQUIRE.
  static bool is_set() {
#if defined(__aarch64__)
    return fpcr() == kStandardFpcr;
#elif defined(__x86_64__)
    return is_standard();
#else
    return true;
#endif
  }

 private:
#if defined(__aarch64__)
  // Sets the whole register, because the C library's FE_DFL_ENV does not change the bits that its version
  // considers reserved.
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
  static constexpr unsigned kExceptionFlags = 0x3F;  // they record events and are not settings
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
