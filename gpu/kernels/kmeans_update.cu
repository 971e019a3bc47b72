#include "gpu/kernels/kmeans.h"
#include "gpu/kernels/kmeans_halves.cuh"
#include "gpu/kernels/launch.cuh"
#include "gpu/layout/tile.h"
#include "gpu/primitives/warp/reduce.cuh"

namespace glove::gpu {
namespace {

constexpr int kThreads = 256;
constexpr double kSlack = 0x1p-20;  // for the roundings of lengths

// Reductions over the block. Every thread gets the result; the order is fixed.
template <class Combine>
__device__ double block_reduce(double value, double* scratch, const Combine& combine) {
  __syncthreads();
  scratch[threadIdx.x] = value;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) scratch[threadIdx.x] = combine(scratch[threadIdx.x], scratch[threadIdx.x + half]);
  }
  __syncthreads();
  return scratch[0];
}

__device__ double block_sum(double value, double* scratch) {
  return block_reduce(value, scratch, [](double a, double b) { return a + b; });
}

__device__ double block_max(double value, double* scratch) {
  return block_reduce(value, scratch, [](double a, double b) { return fmax(a, b); });
}

// Computes a centroid's fragments, length and residual, and how far it has moved. Called by all threads of
// the block. scratch: [kThreads].
__device__ void prepare_centroid(const KMeansParams& params, int cluster, double* scratch) {
  const int dims = params.part.dims;
  const auto thread = static_cast<int>(threadIdx.x);
  const float* const vector = params.centroids.vectors + static_cast<int64_t>(cluster) * dims;
  double* const scaled = params.centroids.scaled + static_cast<int64_t>(cluster) * dims;
  auto* const halves = reinterpret_cast<__half*>(params.centroids.fragments);
  const double norm = sqrt(params.centroids.norms_squared[cluster]);
  const double factor = params.metric == Metric::kEuclidean ? params.scale : norm > 0 ? 1 / norm : 0.0;
  double residual = 0;
  double moved = 0;
  for (int j = thread; j < dims; j += kThreads) {
    const double value = static_cast<double>(vector[j]) * factor;
    const HalfComponent half = half_component(value);
    halves[centroid_place(cluster, j, params.steps)] = half.value;
    residual += half.rest * half.rest;
    moved += (value - scaled[j]) * (value - scaled[j]);
    scaled[j] = value;
  }
  residual = block_sum(residual, scratch);
  moved = block_sum(moved, scratch);
  if (thread != 0) return;
  const double length = norm * factor;
  params.centroids.half_squares[cluster] = __double2float_rn(length * length / 2);
  params.centroids.extents[cluster] = {__double2float_ru(length),
                                       __double2float_ru(sqrt(residual) * (1 + kSlack)),
                                       sqrt(moved) * (1 + kSlack) + 0x1p-40};
}

__global__ void __launch_bounds__(kThreads)
    kmeans_prepare_kernel(const __grid_constant__ KMeansParams params) {
  __shared__ double scratch[kThreads];
  const auto cluster = static_cast<int>(blockIdx.x);
  if (cluster < params.centroids.count) {
    prepare_centroid(params, cluster, scratch);
  } else if (threadIdx.x == 0) {
    params.centroids.half_squares[cluster] = kPaddingHalfSquare;
  }
}

// Returns the number of clusters without members. Called by all threads of the block.
__device__ double empty_clusters(const KMeansParams& params, double* scratch) {
  double mine = 0;
  for (int c = static_cast<int>(threadIdx.x); c < params.centroids.count; c += kThreads)
    mine += params.fit.sizes[c] == 0 ? 1 : 0;
  return block_sum(mine, scratch);
}

// FixedSums::update for one cluster. Returns false if the centroid stays as it is. Called by all threads of
// the block; the result is the same for all. products: [dims].
__device__ bool move_centroid(const KMeansParams& params, int cluster, double* products, double* scratch) {
  const int dims = params.part.dims;
  const auto thread = static_cast<int>(threadIdx.x);
  const int64_t size = params.fit.sizes[cluster];
  const int64_t* const sums = params.fit.sums + static_cast<int64_t>(cluster) * dims;
  float* const vector = params.centroids.vectors + static_cast<int64_t>(cluster) * dims;
  if (size == 0) return false;
  double factor =
      __ddiv_rn(__ddiv_rn(__ddiv_rn(1.0, params.scale), params.fixed_one), static_cast<double>(size));
  if (params.metric == Metric::kCosine) {
    for (int j = thread; j < dims; j += kThreads) {
      const auto sum = static_cast<double>(sums[j]);
      products[j] = __dmul_rn(sum, sum);
    }
    __syncthreads();
    if (thread == 0) {
      double square = 0;  // in the order of the components
      for (int j = 0; j < dims; ++j) square = __dadd_rn(square, products[j]);
      scratch[0] = square;
    }
    __syncthreads();
    const double square = scratch[0];
    __syncthreads();
    if (!(square > 0)) return false;
    factor = __ddiv_rn(1.0, __dsqrt_rn(square));
  }
  for (int j = thread; j < dims; j += kThreads)
    vector[j] = __double2float_rn(__dmul_rn(static_cast<double>(sums[j]), factor));
  __syncthreads();
  if (thread < kWarpLanes) {
    // Read and written by this block, so not through the read-only cache.
    double sum = 0.0;
    for (int j = thread & 7; j < dims; j += 8)
      sum = fma(static_cast<double>(vector[j]), static_cast<double>(vector[j]), sum);
    sum += __shfl_xor_sync(kFullWarp, sum, 4);
    sum += __shfl_xor_sync(kFullWarp, sum, 2);
    sum += __shfl_xor_sync(kFullWarp, sum, 1);
    if (thread == 0) params.centroids.norms_squared[cluster] = sum;
  }
  __syncthreads();
  return true;
}

// A block per cluster.
__global__ void __launch_bounds__(kThreads)
    kmeans_update_kernel(const __grid_constant__ KMeansParams params, bool always) {
  extern __shared__ double products[];
  __shared__ double scratch[kThreads];
  if (!always && empty_clusters(params, scratch) > 0) return;
  if (move_centroid(params, static_cast<int>(blockIdx.x), products, scratch))
    prepare_centroid(params, static_cast<int>(blockIdx.x), scratch);
  else if (threadIdx.x == 0)
    params.centroids.extents[blockIdx.x].moved = 0;
}

// One block.
__global__ void __launch_bounds__(kThreads)
    kmeans_bound_kernel(const __grid_constant__ KMeansParams params, CentroidMoves moves) {
  __shared__ double scratch[kThreads];
  const auto thread = static_cast<int>(threadIdx.x);
  const int count = params.centroids.count;
  double longest = 0;
  double residual = 0;
  double largest = 0;
  for (int c = thread; c < count; c += kThreads) {
    const CentroidExtent extent = params.centroids.extents[c];
    longest = fmax(longest, static_cast<double>(extent.length));
    residual = fmax(residual, static_cast<double>(extent.residual));
    largest = fmax(largest, extent.moved);
  }
  longest = block_max(longest, scratch);
  residual = block_max(residual, scratch);
  largest = block_max(largest, scratch);
  if (thread == 0) *params.centroids.bound = {__double2float_ru(longest), __double2float_ru(residual)};
  if (moves == CentroidMoves::kNone) return;
  const double empty = empty_clusters(params, scratch);
  if (moves == CentroidMoves::kAll || empty == 0) {
    // The largest move of another centroid is that of the fastest one or, for the fastest itself, the next.
    double fastest = 0;
    double next = 0;
    for (int c = thread; c < count; c += kThreads) {
      const double moved = params.centroids.extents[c].moved;
      if (moved == largest)
        fastest += 1;
      else
        next = fmax(next, moved);
    }
    fastest = block_sum(fastest, scratch);
    next = block_max(next, scratch);
    for (int c = thread; c < count; c += kThreads) {
      const double moved = params.centroids.extents[c].moved;
      params.fit.travelled[c + 1] += moved + (moved == largest && fastest == 1 ? next : largest);
    }
  }
  if (thread == 0) {
    *params.fit.report = {params.counters->changes, static_cast<uint32_t>(empty)};
    *params.counters = {};
  }
}

}  // namespace

cudaError_t launch_kmeans_prepare(const KMeansParams& params, cudaStream_t stream) {
  return launch(kmeans_prepare_kernel, {params.centroids.padded, kThreads}, stream, params);
}

cudaError_t launch_kmeans_update(const KMeansParams& params, bool always, cudaStream_t stream) {
  return launch(kmeans_update_kernel,
                {params.centroids.count, kThreads, params.part.dims * int64_t{sizeof(double)}}, stream,
                params, always);
}

cudaError_t launch_kmeans_bound(const KMeansParams& params, CentroidMoves moves, cudaStream_t stream) {
  return launch(kmeans_bound_kernel, {1, kThreads}, stream, params, moves);
}

}  // namespace glove::gpu
