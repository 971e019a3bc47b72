// The relation's order (search/neighbor.h) as integers, which every device compares quickly.
#pragma once

#include <cstdint>

namespace glove::gpu {

// A row as it is ranked.
struct alignas(16) RankedRow {
  uint64_t key;  // increases with the similarity
  int32_t id;

  __device__ bool ranks_before(const RankedRow& other) const {
    return key != other.key ? key > other.key : id < other.id;
  }
};

// Returns row i of two arrays in device memory that other blocks have written. REQUIRES: no NaN. -0 ranks as
// +0.
__device__ inline RankedRow ranked_row(const double* similarities, const int32_t* ids, uint32_t i) {
  const auto bits = static_cast<uint64_t>(__double_as_longlong(__dadd_rn(__ldcg(similarities + i), 0.0)));
  const uint64_t sign = uint64_t{1} << 63;
  return {(bits & sign) != 0 ? ~bits : bits | sign, __ldcg(ids + i)};
}

}  // namespace glove::gpu
