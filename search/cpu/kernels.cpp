#include "search/cpu/kernels.h"

namespace glove::cpu {

std::span<const Kernels* const> usable_kernels() {
  static const Kernels* const usable[] = {&kScalarKernels};
  return usable;
}

}  // namespace glove::cpu
