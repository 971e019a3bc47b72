#include "gpu/kernels/kmeans.h"

#include "gpu/query_codes.h"
#include "gpu/tile.h"
#include "gpu/warp/exact_dot.cuh"

namespace glove::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpLanes;

// --- Sums -------------------------------------------------------------------------------------------------

constexpr int kBlockChanges = kThreads / 2;  // each is an addition and a subtraction
constexpr int kWarpEntries = kThreads / kWarps;
constexpr int kLaneColumns = 4;
constexpr int kEntriesAtOnce = 4;
constexpr uint32_t kNoEntry = 0xffffffffu;
constexpr double kRoundingMagic = 0x1.8p52;

// One row to add to a cluster or to take out of it.
struct SumEntry {
  int32_t row;
  int32_t cluster;  // -1: none
  int32_t sign;
};

// What FixedSums::factor returns.
__device__ double fixed_factor(const KMeansParams& params, int32_t row) {
  if (params.metric == Metric::kEuclidean) return params.fixed_one * params.scale;
  return __dmul_rn(__ddiv_rn(1.0, __dsqrt_rn(params.part.norms_squared[row])), params.fixed_one);
}

__device__ int64_t to_fixed(float x, double factor) {
  return __double_as_longlong(__dadd_rn(__dmul_rn(static_cast<double>(x), factor), kRoundingMagic)) -
         __double_as_longlong(kRoundingMagic);
}

__device__ void add_to(int64_t* sum, int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(value));
}

// Sorts the block's entries by cluster, those without one last. Called by all threads of the block, each with
// its entry.
__device__ void sort_entries(SumEntry own, uint32_t* keys, SumEntry* sorted) {
  const uint32_t cluster = own.cluster < 0 ? 0xffffffu : static_cast<uint32_t>(own.cluster);
  const uint32_t key = cluster << 8 | threadIdx.x;
  keys[threadIdx.x] = key;
  __syncthreads();
  uint32_t place = 0;
#pragma unroll 8
  for (int i = 0; i < kThreads; ++i) place += keys[i] < key;
  sorted[place] = own;
  __syncthreads();
}

// Adds a warp's sorted entries, one column group after the other, and writes a sum where the cluster changes.
__device__ void add_entries(const KMeansParams& params, SumEntry own, int lane) {
  const int dims = params.part.dims;
  const double own_factor = own.cluster < 0 ? 0.0 : fixed_factor(params, own.row);
  const uint32_t used = __ballot_sync(kFullWarp, own.cluster >= 0);
  const int count = __popc(used);  // the entries without a cluster are the last
  for (int base = 0; base < dims; base += kWarpLanes * kLaneColumns) {
    int64_t sums[kLaneColumns] = {};
    int64_t size = 0;
    int32_t cluster = __shfl_sync(kFullWarp, own.cluster, 0);
    const auto flush = [&] {
#pragma unroll
      for (int c = 0; c < kLaneColumns; ++c) {
        const int column = base + c * kWarpLanes + lane;
        if (column < dims && sums[c] != 0)
          add_to(params.sums + static_cast<int64_t>(cluster) * dims + column, sums[c]);
        sums[c] = 0;
      }
      if (base == 0 && lane == 0 && size != 0) add_to(params.sizes + cluster, size);
      size = 0;
    };
    for (int first = 0; first < count; first += kEntriesAtOnce) {
      float x[kEntriesAtOnce][kLaneColumns];
#pragma unroll
      for (int i = 0; i < kEntriesAtOnce; ++i) {
        const int entry = min(first + i, count - 1);
        const float* const row =
            params.part.vectors + static_cast<int64_t>(__shfl_sync(kFullWarp, own.row, entry)) * dims;
#pragma unroll
        for (int c = 0; c < kLaneColumns; ++c) {
          const int column = base + c * kWarpLanes + lane;
          x[i][c] = column < dims ? __ldg(row + column) : 0.0f;
        }
      }
#pragma unroll
      for (int i = 0; i < kEntriesAtOnce; ++i) {
        const int entry = min(first + i, count - 1);
        const int32_t next = __shfl_sync(kFullWarp, own.cluster, entry);
        const double factor = __shfl_sync(kFullWarp, own_factor, entry);
        const int sign = first + i < count ? __shfl_sync(kFullWarp, own.sign, entry) : 0;
        if (next != cluster) flush();
        cluster = next;
        size += sign;
#pragma unroll
        for (int c = 0; c < kLaneColumns; ++c) sums[c] += sign * to_fixed(x[i][c], factor);
      }
    }
    if (count > 0) flush();
  }
}

__global__ void __launch_bounds__(kThreads) kmeans_sums_kernel(const __grid_constant__ KMeansParams params) {
  __shared__ uint32_t keys[kThreads];
  __shared__ SumEntry sorted[kThreads];
  const uint32_t changes = *params.change_count;
  for (uint32_t base = blockIdx.x * kBlockChanges; base < changes; base += gridDim.x * kBlockChanges) {
    const uint32_t i = base + threadIdx.x / 2;
    SumEntry own = {0, -1, 0};
    if (i < changes) {
      const ClusterChange change = params.changes[i];
      const bool addition = (threadIdx.x & 1) == 0;
      own = {change.row, addition ? change.to : change.from, addition ? 1 : -1};
    }
    sort_entries(own, keys, sorted);
    add_entries(params, sorted[threadIdx.x], static_cast<int>(threadIdx.x) & 31);
    __syncthreads();
  }
}

// --- Centroids --------------------------------------------------------------------------------------------

constexpr double kRelativeSlack = 0x1p-18;  // as in cpu/assign.cpp
constexpr double kUnderflow = 0x1p-126;

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

// The bound of a centroid whose codes have this scale and residual, as CentroidScan::bound_of.
__device__ void write_bound(const KMeansParams& params, int cluster, double inverse_scale, double residual,
                            double norm_squared) {
  const double slack = 0x1p-20;
  ClusterBound bound;
  bound.estimate = __double2float_rn(inverse_scale);
  bound.slope = __double2float_ru((1 + residual) * (1 + slack));
  bound.offset = __double2float_ru(residual + slack);
  bound.upper_half = 0.0f;
  float lower_half = 0.0f;
  if (params.metric == Metric::kEuclidean) {
    const double length = sqrt(norm_squared) * params.scale;
    const double half_square = length * length / 2;
    const double half_slack = half_square * kRelativeSlack + kUnderflow;
    bound.estimate = __double2float_rn(bound.estimate * length);
    bound.slope = __double2float_ru(bound.slope * length * (1 + kRelativeSlack));
    bound.offset = __double2float_ru(bound.offset * length * (1 + kRelativeSlack));
    bound.upper_half = __double2float_ru(half_slack - half_square);
    lower_half = __double2float_ru(half_slack + half_square);
  }
  params.centroids.bounds[cluster] = bound;
  params.centroids.lower_halves[cluster] = lower_half;
}

// Computes a centroid's codes and bound. Called by all threads of the block. scratch: [kThreads].
__device__ void prepare_centroid(const KMeansParams& params, int cluster, double* scratch) {
  const int dims = params.part.dims;
  const auto thread = static_cast<int>(threadIdx.x);
  const float* const vector = params.centroids.vectors + static_cast<int64_t>(cluster) * dims;
  const double norm_squared = params.centroids.norms_squared[cluster];
  const double inverse_norm = norm_squared > 0 ? 1 / sqrt(norm_squared) : 0.0;
  double largest = 0;
  double total = 0;
  for (int j = thread; j < dims; j += kThreads) {
    const double v = fabs(static_cast<double>(vector[j]) * inverse_norm);
    largest = fmax(largest, v);
    total += v;
  }
  largest = block_reduce(largest, scratch, [](double a, double b) { return fmax(a, b); });
  total = block_sum(total, scratch);
  // Keeps the sum of all codes' magnitudes below kBatchSumLimit / 128.
  const double scale =
      norm_squared > 0 ? fmax(1.0, fmin(kOnePlaneCode / largest, (32700 - 0.5 * dims) / total)) : 1.0;
  const double inverse_scale = 1 / scale;
  const int padded_dims = params.groups * kComponentsPerGroup;
  double square = 0;
  for (int j = thread; j < padded_dims; j += kThreads) {
    const double v = j < dims ? static_cast<double>(vector[j]) * inverse_norm : 0.0;
    const double code = fmax(-127.0, fmin(127.0, rint(scale * v)));
    const double rest = v - code * inverse_scale;
    square += rest * rest;
    params.centroids.fragments[fragment_index(cluster, j, params.steps)] =
        static_cast<int8_t>(static_cast<int>(code));
  }
  square = block_sum(square, scratch);
  const double tiny = 0x1p-40;
  if (thread == 0)
    write_bound(params, cluster, inverse_scale, sqrt(square) * (1 + tiny) + tiny, norm_squared);
}

__global__ void __launch_bounds__(kThreads)
    kmeans_prepare_kernel(const __grid_constant__ KMeansParams params) {
  __shared__ double scratch[kThreads];
  const auto cluster = static_cast<int>(blockIdx.x);
  if (cluster < params.centroids.count) {
    prepare_centroid(params, cluster, scratch);
  } else if (threadIdx.x == 0) {
    params.centroids.bounds[cluster] = {0.0f, 0.0f, -INFINITY, 0.0f};
    params.centroids.lower_halves[cluster] = 0.0f;
  }
}

// FixedSums::update for one cluster. Returns false if the centroid stays as it is. Called by all threads of
// the block; the result is the same for all. products: [dims].
__device__ bool move_centroid(const KMeansParams& params, int cluster, double* products, double* scratch) {
  const int dims = params.part.dims;
  const auto thread = static_cast<int>(threadIdx.x);
  const int64_t size = params.sizes[cluster];
  const int64_t* const sums = params.sums + static_cast<int64_t>(cluster) * dims;
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
  __shared__ uint32_t empty;
  if (threadIdx.x == 0) empty = 0;
  __syncthreads();
  uint32_t mine = 0;
  for (int c = static_cast<int>(threadIdx.x); c < params.centroids.count; c += kThreads)
    mine += params.sizes[c] == 0;
  if (mine != 0) atomicAdd(&empty, mine);
  __syncthreads();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *params.report = {*params.change_count, empty};
    *params.change_count = 0;
  }
  if (empty != 0 && !always) return;
  if (move_centroid(params, static_cast<int>(blockIdx.x), products, scratch))
    prepare_centroid(params, static_cast<int>(blockIdx.x), scratch);
}

}  // namespace

cudaError_t launch_kmeans_prepare(const KMeansParams& params, cudaStream_t stream) {
  kmeans_prepare_kernel<<<static_cast<unsigned>(params.centroids.padded), kThreads, 0, stream>>>(params);
  return cudaGetLastError();
}

cudaError_t launch_kmeans_sums(const KMeansParams& params, const BatchShape& shape, cudaStream_t stream) {
  const int64_t useful = (int64_t{params.part.rows} + kBlockChanges - 1) / kBlockChanges;
  const int64_t fitting = int64_t{8} * shape.multiprocessors;
  const auto blocks = static_cast<unsigned>(useful < fitting ? useful : fitting);
  kmeans_sums_kernel<<<blocks, kThreads, 0, stream>>>(params);
  return cudaGetLastError();
}

cudaError_t launch_kmeans_update(const KMeansParams& params, bool always, cudaStream_t stream) {
  const auto bytes = static_cast<size_t>(params.part.dims) * sizeof(double);
  kmeans_update_kernel<<<static_cast<unsigned>(params.centroids.count), kThreads, bytes, stream>>>(params,
                                                                                                   always);
  return cudaGetLastError();
}

}  // namespace glove::gpu
