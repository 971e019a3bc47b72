#include "gpu/kernels/score_all.h"

#include "gpu/kernels/launch.cuh"
#include "gpu/primitives/warp/exact_dot.cuh"

namespace glove::gpu {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    score_all_kernel(const float* vectors, const float* query, int64_t rows, int32_t dims, double* dots) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int64_t row = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 8;
  const double dot = team_exact_dot(query, row < rows ? vectors + row * dims : nullptr, dims, lane);
  if (row < rows && (lane & 7) == 0) dots[row] = dot;
}

}  // namespace

cudaError_t launch_score_all(const float* vectors, const float* query, int64_t rows, int32_t dims,
                             double* dots, cudaStream_t stream) {
  return launch(score_all_kernel, {(rows * 8 + kThreads - 1) / kThreads, kThreads}, stream, vectors, query,
                rows, dims, dots);
}

}  // namespace glove::gpu
