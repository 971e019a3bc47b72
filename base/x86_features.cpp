#include "base/x86_features.h"

#if defined(__x86_64__)
#include <cpuid.h>

namespace glove {
namespace {

// The sets of registers that the system saves when it switches threads, as bits (register XCR0).
unsigned saved_registers() {
  unsigned low = 0, high = 0;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

// Source of the bits: Intel's Software Developer's Manual, volume 2, CPUID, and volume 1, 13.2 and 15.2.
X86Features read_features() {
  X86Features found{};
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return found;
  const auto bit = [](unsigned bits, int position) { return (bits >> position & 1u) != 0; };
  found.pclmul = bit(ecx, 1);
  found.ssse3 = bit(ecx, 9);
  found.sse4_1 = bit(ecx, 19);
  found.sse4_2 = bit(ecx, 20);
  found.aes = bit(ecx, 25);
  constexpr unsigned kAvxRegisters = 0x06, kAvx512Registers = 0xe6;
  const unsigned saved = bit(ecx, 27) ? saved_registers() : 0;
  if ((saved & kAvxRegisters) != kAvxRegisters) return found;
  found.avx = bit(ecx, 28);
  found.f16c = bit(ecx, 29);
  found.fma = bit(ecx, 12);
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return found;
  found.avx2 = bit(ebx, 5);
  found.bmi = bit(ebx, 3);
  found.bmi2 = bit(ebx, 8);
  if ((saved & kAvx512Registers) != kAvx512Registers) return found;
  found.avx512f = bit(ebx, 16);
  found.avx512dq = bit(ebx, 17);
  found.avx512bw = bit(ebx, 30);
  found.avx512vl = bit(ebx, 31);
  found.avx512vnni = bit(ecx, 11);
  found.avx512bitalg = bit(ecx, 12);
  found.amx_tile = bit(edx, 24);
  found.amx_int8 = bit(edx, 25);
  return found;
}

}  // namespace

const X86Features& x86_features() {
  static const X86Features features = read_features();
  return features;
}

}  // namespace glove

#endif
