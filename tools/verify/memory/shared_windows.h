// Where the shared memory of each block of a cluster lies among the addresses of all.
#pragma once

#include <algorithm>
#include <cstdint>

namespace glove::verify {

// Addresses of the block with rank r begin at r * kSize. Tables hold the windows one behind the other, each
// with `stride` bytes.
struct Windows {
  static constexpr uint64_t kSize = uint64_t{1} << 24;

  uint64_t stride = 0;  // 0: there is one block

  // The place of an address in a table.
  uint64_t compact(uint64_t address) const {
    if (stride == 0) return address;
    return address / kSize * stride + std::min(address % kSize, stride - 1);
  }
  // The address that stands at a place.
  uint64_t expand(uint64_t place) const {
    return stride == 0 ? place : place / stride * kSize + place % stride;
  }
};

// Of which block of its cluster a thread's address of shared memory is: the rank, or one of these.
struct Window {
  static constexpr uint32_t kOwn = ~0u, kAny = ~0u - 1;
  // Addresses below are of the thread's own block, those from here on of the block with rank 0, 1, and so on.
  static constexpr uint64_t kMapped = uint64_t{1} << 28;
};

}  // namespace glove::verify
