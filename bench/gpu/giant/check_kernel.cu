#include "bench/gpu/giant/check.h"

namespace glove::bench {
namespace {

constexpr int kRows = 64;  // per block, in shared memory
constexpr int kThreads = 256;

// D (model/exact_dot.h) of one row with several queries: eight sums each, component j in sum j mod 8.
struct Sums {
  double of[kCheckedTogether][8] = {};

  __device__ double total(int i) const {
    const double* p = of[i];
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
  }
};

__device__ double norm_squared(const float* x, int dims) {
  Sums sums;
  for (int first = 0; first < dims; first += 8)
#pragma unroll
    for (int l = 0; l < 8; ++l)
      if (first + l < dims)
        sums.of[0][l] += static_cast<double>(x[first + l]) * static_cast<double>(x[first + l]);
  return sums.total(0);
}

__device__ Sums dots(const float* x, const double* queries, int dims) {
  Sums sums;
  for (int first = 0; first < dims; first += 8)
#pragma unroll
    for (int l = 0; l < 8; ++l)
      if (first + l < dims) {
        const auto value = static_cast<double>(x[first + l]);
#pragma unroll
        for (int i = 0; i < kCheckedTogether; ++i)
          sums.of[i][l] += queries[static_cast<int64_t>(i) * dims + first + l] * value;
      }
  return sums;
}

__global__ void __launch_bounds__(kThreads) check_kernel(const __grid_constant__ CheckParams check) {
  extern __shared__ float staged[];  // [kRows, stride]
  const int stride = check.dims | 1;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kRows;
  const auto rows = static_cast<int>(min(int64_t{kRows}, check.rows - first));
  for (int i = static_cast<int>(threadIdx.x); i < rows * check.dims; i += kThreads)
    staged[i / check.dims * stride + i % check.dims] = check.vectors[first * check.dims + i];
  __syncthreads();
  const int row = static_cast<int>(threadIdx.x) % kRows;
  if (row >= rows) return;
  const float* const x = staged + row * stride;
  const double norm = norm_squared(x, check.dims);
  if (!(norm > 0)) return;
  for (int query = static_cast<int>(threadIdx.x) / kRows * kCheckedTogether; query < check.queries;
       query += kThreads / kRows * kCheckedTogether) {
    const Sums sums = dots(x, check.components + static_cast<int64_t>(query) * check.dims, check.dims);
    for (int i = 0; i < kCheckedTogether; ++i) {
      const double cosine = sums.total(i) / sqrt(check.norms[query + i] * norm);
      const double similarity = fmin(1.0, fmax(-1.0, cosine));
      if (similarity < check.thresholds[query + i]) continue;
      const uint32_t slot = atomicAdd(check.sizes + query + i, 1u);
      if (slot < check.capacity)
        check.lists[static_cast<int64_t>(query + i) * check.capacity + slot] = {check.first_row + first + row,
                                                                                similarity};
    }
  }
}

}  // namespace

cudaError_t launch_check(const CheckParams& check, cudaStream_t stream) {
  const int bytes = kRows * (check.dims | 1) * static_cast<int>(sizeof(float));
  const cudaError_t error =
      cudaFuncSetAttribute(check_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) return error;
  check_kernel<<<static_cast<unsigned>((check.rows + kRows - 1) / kRows), kThreads,
                 static_cast<size_t>(bytes), stream>>>(check);
  return cudaGetLastError();
}

}  // namespace glove::bench
