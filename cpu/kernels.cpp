#include "cpu/kernels.h"

#include <cstdlib>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace glove::cpu {
namespace {

#if defined(__x86_64__)
// Not every compiler's __builtin_cpu_supports knows this feature.
bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool has_sse4() {
  return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
         __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
         __builtin_cpu_supports("aes");
}

bool has_avx2() {
  return has_sse4() && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
         has_f16c();
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}

bool has_avx512vnni() {
  return has_avx512() && __builtin_cpu_supports("avx512vnni");
}

// Asks the system for the tile registers, which it saves for a process only on request. It refuses where it
// does not know them, or where a thread's signal stack is too small for them. Source: Linux,
// Documentation/arch/x86/xstate.rst.
bool allowed_amx() {
#if defined(__linux__)
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr unsigned long kTileData = 18;     // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

bool has_amx() {
  constexpr unsigned kTilesAndInt8 = 1u << 24 | 1u << 25;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return has_avx512vnni() && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 &&
         (edx & kTilesAndInt8) == kTilesAndInt8 && allowed_amx();
}
#elif defined(GLOVE_HAS_NEONDOTPROD)
// Checks for the dot product instructions and for all other Armv8.2 features that a compiler may use with
// them.
bool has_neondotprod() {
  constexpr unsigned long kNeeded = HWCAP_ASIMDDP | HWCAP_ATOMICS | HWCAP_CRC32 | HWCAP_ASIMDRDM;
  return (getauxval(AT_HWCAP) & kNeeded) == kNeeded;
}
#endif

std::vector<const Kernels*> find_usable() {
  std::vector<const Kernels*> usable = {&kScalarKernels};
#if defined(__x86_64__)
  // Each target needs the features that its functions' attributes name (kernels_simd.cpp), and the system's
  // support.
  __builtin_cpu_init();
  if (has_sse4()) usable.push_back(&sse4::kKernels);
  if (has_avx2()) usable.push_back(&avx2::kKernels);
  if (has_avx512()) usable.push_back(&avx512::kKernels);
  if (has_avx512vnni()) usable.push_back(&avx512vnni::kKernels);
  // The request for the registers binds the whole process, so it is made only if they may be used.
  const char* const forced = std::getenv("GLOVE_CPU_TARGET");
  if ((forced == nullptr || std::string_view(forced) == "amx") && has_amx())
    usable.push_back(&avx512vnni::kAmxKernels);
#elif defined(__aarch64__)
  usable.push_back(&neon::kKernels);
#if defined(GLOVE_HAS_NEONDOTPROD)
  if (has_neondotprod()) usable.push_back(&neondotprod::kKernels);
#endif
#endif
  return usable;
}

}  // namespace

std::span<const Kernels* const> usable_kernels() {
  static const auto& usable =
      *new std::vector<const Kernels*>(find_usable());  // never freed: worker threads may outlive destructors
  return usable;
}

Result<const Kernels*> choose_kernels(std::string_view name) {
  const std::span<const Kernels* const> usable = usable_kernels();
  const char* const forced = std::getenv("GLOVE_CPU_TARGET");
  if (name.empty() && forced != nullptr) name = forced;
  if (name.empty()) return usable.back();
  std::string names;
  for (const Kernels* kernels : usable) {
    if (kernels->name == name) return kernels;
    names += (names.empty() ? "" : ", ") + std::string(kernels->name);
  }
  return {ErrorCode::kUnavailable,
          "CPU target '" + std::string(name) + "' is not one that this machine runs: " + names};
}

}  // namespace glove::cpu
