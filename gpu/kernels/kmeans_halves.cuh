// Vectors in 16 bits, in the order in which the scan of k-means reads them.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "gpu/kernels/kmeans.h"

namespace glove::gpu {

// A component in 16 bits, and what that leaves of it.
struct HalfComponent {
  __half value;
  double rest;
};

// Numbers that a half could only represent with fewer digits become 0, so that the result does not depend on
// how the tensor cores treat them.
__device__ inline HalfComponent half_component(double x) {
  const auto scaled = static_cast<float>(x * static_cast<double>(kHalfScale));
  const __half value = fabsf(scaled) < 0x1p-14f ? __float2half_rn(0.0f) : __float2half_rn(scaled);
  return {value, x - static_cast<double>(__half2float(value)) * (1 / static_cast<double>(kHalfScale))};
}

// Where component j of a row is. Lane t of the four that share a row reads eight consecutive ones per two
// steps: four for each step.
__device__ inline int row_place(int j) {
  return j / 32 * 32 + j % 16 / 4 * 8 + j % 32 / 16 * 4 + j % 4;
}

// Where component j of a centroid is among the fragments.
__device__ inline int64_t centroid_place(int cluster, int j, int steps) {
  const int in_chunk = cluster % kChunkCentroids;
  const int block = in_chunk / 8;
  const int lane = in_chunk % 8 * 4 + j % 16 / 4;
  const int64_t step = static_cast<int64_t>(cluster / kChunkCentroids) * steps + j / 16;
  return (step * kChunkStepWords + block / 2 * 32 + lane) * 8 + block % 2 * 4 + j % 4;
}

}  // namespace glove::gpu
