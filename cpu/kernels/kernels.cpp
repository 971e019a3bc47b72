#include "cpu/kernels/kernels.h"

#include <cstdlib>
#include <string>

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "base/system_calls.h"
#include "base/x86_features.h"

namespace glove::cpu {
namespace {

#if defined(GLOVE_HAS_NEONDOTPROD)
// Checks for the dot product instructions and for all other Armv8.2 features that a compiler may use with
// them.
bool has_neondotprod() {
#if defined(__linux__)
  constexpr unsigned long kNeeded = HWCAP_ASIMDDP | HWCAP_ATOMICS | HWCAP_CRC32 | HWCAP_ASIMDRDM;
  return (getauxval(AT_HWCAP) & kNeeded) == kNeeded;
#else
  return true;  // every Apple processor
#endif
}
#endif

std::vector<const Kernels*> find_usable() {
#if defined(__wasm_simd128__)
  std::vector<const Kernels*> usable = {&simd128::kKernels};  // the rest of the module needs them, too
#else
  std::vector<const Kernels*> usable = {&scalar::kKernels};
#endif
#if defined(__x86_64__)
  // Each target needs the features that its functions' attributes name (kernels_simd.cpp), and the system's
  // support.
  const X86Features& features = x86_features();
  const bool has_sse4 =
      features.ssse3 && features.sse4_1 && features.sse4_2 && features.pclmul && features.aes;
  const bool has_avx2 = has_sse4 && features.avx && features.avx2 && features.bmi && features.bmi2 &&
                        features.fma && features.f16c;
  const bool has_avx512 =
      has_avx2 && features.avx512f && features.avx512vl && features.avx512dq && features.avx512bw;
  const bool has_avx512vnni = has_avx512 && features.avx512vnni;
  if (has_sse4) usable.push_back(&sse4::kKernels);
  if (has_avx2) usable.push_back(&avx2::kKernels);
  if (has_avx512) usable.push_back(&avx512::kKernels);
  if (has_avx512vnni) usable.push_back(&avx512vnni::kKernels);
  // The request for the registers binds the whole process, so it is made only if they may be used.
  const char* const forced = std::getenv("GLOVE_CPU_TARGET");
  if ((forced == nullptr || std::string_view(forced) == "amx") && has_avx512vnni && features.amx_tile &&
      features.amx_int8 && system_calls::allow_amx())
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
