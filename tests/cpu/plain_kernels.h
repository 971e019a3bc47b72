// Kernels without vectors, to compare others with.
#pragma once

#include "cpu/kernels/kernels.h"

namespace glove::cpu {

// Scans by 8 and by 4 bits, and PlaneKernel's estimates. It has no other loops.
extern const Kernels kPlainKernels;

}  // namespace glove::cpu
