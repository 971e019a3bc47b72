#include <cuda_fp16.h>

#include "gpu/kernels/kmeans.h"
#include "gpu/kernels/kmeans_halves.cuh"
#include "gpu/kernels/launch.cuh"
#include "gpu/layout/tile.h"
#include "gpu/primitives/warp/reduce.cuh"

namespace glove::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpLanes;
constexpr int kSelectRows = 4;  // per thread

// A warp per row.
__global__ void __launch_bounds__(kThreads) kmeans_rows_kernel(const __grid_constant__ KMeansParams params) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + (threadIdx.x >> 5);
  if (row >= params.part.rows) return;
  const int dims = params.part.dims;
  const bool cosine = params.metric == Metric::kCosine;
  const double norm = sqrt(params.part.norms_squared[row]);
  const double factor = !cosine ? params.scale : norm > 0 ? 1 / norm : 0.0;
  const float* const vector = params.part.vectors + row * dims;
  const int padded = params.halves.row_words * 8;
  auto* const halves = reinterpret_cast<__half2*>(params.halves.words + row * params.halves.row_words);
  double square = 0;
  for (int j = 2 * lane; j < padded; j += 2 * kWarpLanes) {
    const HalfComponent a = half_component(j < dims ? static_cast<double>(vector[j]) * factor : 0.0);
    const HalfComponent b = half_component(j + 1 < dims ? static_cast<double>(vector[j + 1]) * factor : 0.0);
    square += a.rest * a.rest + b.rest * b.rest;
    halves[row_place(j) / 2] = __halves2half2(a.value, b.value);
  }
  square = warp_sum(square);
  if (lane != 0) return;
  params.halves.lengths[row] = __double2float_ru(norm * factor);
  params.halves.residuals[row] = __double2float_ru(sqrt(square) * (1 + 0x1p-40) + 0x1p-60);
}

__global__ void __launch_bounds__(kThreads)
    kmeans_forget_kernel(const __grid_constant__ KMeansParams params) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row >= params.part.rows) return;
  const bool takes_part = params.metric == Metric::kEuclidean || params.part.norms_squared[row] > 0;
  params.fit.limits[row] = takes_part ? -INFINITY : INFINITY;
}

// Lists rows in blocks of kThreads * kSelectRows.
__global__ void __launch_bounds__(kThreads)
    kmeans_select_kernel(const __grid_constant__ KMeansParams params) {
  __shared__ uint32_t warp_counts[kWarps];
  __shared__ uint32_t block_first;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int64_t first = (static_cast<int64_t>(blockIdx.x) * kWarps + warp) * kWarpLanes * kSelectRows + lane;
  uint32_t lanes[kSelectRows];
  uint32_t mine = 0;
#pragma unroll
  for (int i = 0; i < kSelectRows; ++i) {
    const int64_t row = first + i * kWarpLanes;
    const bool wants = row < params.part.rows && !(static_cast<double>(params.fit.limits[row]) >
                                                   params.fit.travelled[params.fit.labels[row] + 1]);
    lanes[i] = __ballot_sync(kFullWarp, wants);
    mine += static_cast<uint32_t>(__popc(lanes[i]));
  }
  if (lane == 0) warp_counts[warp] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t all = 0;
    for (uint32_t& count : warp_counts) {
      const uint32_t before = all;
      all += count;
      count = before;
    }
    block_first = all > 0 ? atomicAdd(&params.counters->visits, all) : 0;
  }
  __syncthreads();
  uint32_t place = block_first + warp_counts[warp];
#pragma unroll
  for (int i = 0; i < kSelectRows; ++i) {
    if ((lanes[i] >> lane & 1) != 0)
      params.fit.visits[place + static_cast<uint32_t>(__popc(lanes[i] & ((1u << lane) - 1)))] =
          static_cast<int32_t>(first + i * kWarpLanes);
    place += static_cast<uint32_t>(__popc(lanes[i]));
  }
}

int64_t blocks_of(int64_t rows, int64_t per_block) {
  return (rows + per_block - 1) / per_block;
}

}  // namespace

cudaError_t launch_kmeans_rows(const KMeansParams& params, cudaStream_t stream) {
  return launch(kmeans_rows_kernel, {blocks_of(params.part.rows, kWarps), kThreads}, stream, params);
}

cudaError_t launch_kmeans_forget(const KMeansParams& params, cudaStream_t stream) {
  return launch(kmeans_forget_kernel, {blocks_of(params.part.rows, kThreads), kThreads}, stream, params);
}

cudaError_t launch_kmeans_select(const KMeansParams& params, cudaStream_t stream) {
  return launch(kmeans_select_kernel, {blocks_of(params.part.rows, kThreads * kSelectRows), kThreads}, stream,
                params);
}

}  // namespace glove::gpu
