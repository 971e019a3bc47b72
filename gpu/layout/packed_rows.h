// The layout in which a device keeps the 8-bit codes for looking up single rows: all that a row's bound
// needs, in consecutive bytes.
#pragma once

#include <cstdint>

#include "model/bound.h"

namespace glove::gpu {

// A packed row has its codes from the first byte on, zeros, and in the last eight bytes its scale and its
// residual, both float. Rows follow one another at this distance, which is a multiple of 16 bytes.
GLOVE_HOST_DEVICE constexpr int64_t packed_row_bytes(int64_t dims) {
  return (dims + 8 + 15) / 16 * 16;
}

}  // namespace glove::gpu
