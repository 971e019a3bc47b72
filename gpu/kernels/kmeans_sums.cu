#include "gpu/kernels/kmeans.h"
#include "gpu/kernels/launch.cuh"
#include "gpu/layout/tile.h"
#include "gpu/primitives/warp/reduce.cuh"

namespace glove::gpu {
namespace {

constexpr int kThreads = 256;

constexpr int kBlockChanges = kThreads / 2;  // each is an addition and a subtraction
// Columns per lane and pass over a warp's rows. Up to 320 dimensions need one pass.
constexpr int kFewColumns = 4;
constexpr int kManyColumns = 10;
constexpr int kEntriesAtOnce = 4;
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
  // verify: lemma ranks-distinct
  sorted[place] = own;
  __syncthreads();
}

// Adds a warp's sorted entries, one column group after the other, and writes a sum where the cluster changes.
template <int kLaneColumns>
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
          add_to(params.fit.sums + static_cast<int64_t>(cluster) * dims + column, sums[c]);
        sums[c] = 0;
      }
      if (base == 0 && lane == 0 && size != 0) add_to(params.fit.sizes + cluster, size);
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

template <int kLaneColumns>
__global__ void __launch_bounds__(kThreads, kLaneColumns == kManyColumns ? 2 : 4)
    kmeans_sums_kernel(const __grid_constant__ KMeansParams params) {
  __shared__ uint32_t keys[kThreads];
  __shared__ SumEntry sorted[kThreads];
  // verify: range changes
  const uint32_t changes = params.counters->changes;
  for (uint32_t base = blockIdx.x * kBlockChanges; base < changes; base += gridDim.x * kBlockChanges) {
    const uint32_t i = base + threadIdx.x / 2;
    SumEntry own = {0, -1, 0};
    if (i < changes) {
      const ClusterChange change = params.fit.changes[i];
      const bool addition = (threadIdx.x & 1) == 0;
      own = {change.row, addition ? change.to : change.from, addition ? 1 : -1};
    }
    sort_entries(own, keys, sorted);
    add_entries<kLaneColumns>(params, sorted[threadIdx.x], static_cast<int>(threadIdx.x) & 31);
    __syncthreads();
  }
}

}  // namespace

cudaError_t launch_kmeans_sums(const KMeansParams& params, const DeviceShape& shape, cudaStream_t stream) {
  const int64_t useful = (int64_t{params.part.rows} + kBlockChanges - 1) / kBlockChanges;
  const int64_t fitting = int64_t{8} * shape.multiprocessors;
  const auto kernel = params.part.dims <= kFewColumns * kWarpLanes ? kmeans_sums_kernel<kFewColumns>
                                                                   : kmeans_sums_kernel<kManyColumns>;
  return launch(kernel, {useful < fitting ? useful : fitting, kThreads}, stream, params);
}

}  // namespace glove::gpu
