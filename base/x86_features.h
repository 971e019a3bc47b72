// The instruction sets beyond x86-64's first: their intrinsics, and which of them the processor has and the
// system supports.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

// A function of this instruction set.
#define GLOVE_AVX2 __attribute__((target("avx2")))

namespace glove {

// Each is true only if the system also saves the registers that the instructions use.
struct X86Features {
  bool ssse3, sse4_1, sse4_2, pclmul, aes;
  bool avx, f16c, fma, avx2, bmi, bmi2;
  bool avx512f, avx512dq, avx512bw, avx512vl, avx512vnni, avx512bitalg;
  // Of the processor alone: Linux lets a process use the tile registers only on request.
  bool amx_tile, amx_int8;
};

// Reads them once. Compilers have __builtin_cpu_supports, but its data are in libgcc or compiler-rt, and not
// every toolchain has them.
const X86Features& x86_features();

}  // namespace glove

#endif
