// The floating-point control word that every bit of this project's arithmetic
// assumes: round to nearest, denormals kept (no DAZ, no FTZ), no traps.
#pragma once

#include <cfenv>
#if defined(__SSE__) || defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace glove {

// Host processes do run with other settings (a library built with -ffast-math
// sets DAZ and FTZ for the thread that loads it). Hold one of these at every
// entry of the engine and at the start of every thread it owns; the destructor
// puts the caller's settings back.
class ScopedFloatEnvironment {
 public:
  ScopedFloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
#if defined(__SSE__) || defined(__x86_64__)
    _mm_setcsr(0x1F80);  // glibc's FE_DFL_ENV leaves DAZ and FTZ as they were on some versions
#endif
  }
  ~ScopedFloatEnvironment() {
    std::fesetenv(&saved_);
  }
  ScopedFloatEnvironment(const ScopedFloatEnvironment&) = delete;
  ScopedFloatEnvironment& operator=(const ScopedFloatEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace glove
