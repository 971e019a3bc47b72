#include "gpu/kernels/kmeans.h"

#include "gpu/tile.h"
#include "gpu/warp/exact_dot.cuh"

namespace glove::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpLanes;
constexpr int kTeams = kWarpLanes / 8;

// cluster_score() of analysis/clusters.h, with the same IEEE operations.
__device__ double device_cluster_score(Metric metric, double dot, double row_norm, double centroid_norm) {
  if (metric == Metric::kCosine) return cosine_from_dots(dot, row_norm, centroid_norm);
  return -__dsub_rn(__dadd_rn(row_norm, centroid_norm), __dmul_rn(2.0, dot));
}

__device__ void offer(NearestTwo& nearest, int32_t cluster, double score) {
  if (nearest.first < 0 || score > nearest.first_score ||
      (score == nearest.first_score && cluster < nearest.first)) {
    nearest.second = nearest.first;
    nearest.second_score = nearest.first_score;
    nearest.first = cluster;
    nearest.first_score = score;
  } else if (nearest.second < 0 || score > nearest.second_score ||
             (score == nearest.second_score && cluster < nearest.second)) {
    nearest.second = cluster;
    nearest.second_score = score;
  }
}

// A row in double, in the registers of a team of eight lanes: component j is in lane j mod 8. kParts 0 keeps
// nothing, for rows that do not fit.
template <int kParts>
struct TeamRow {
  double x[kParts > 0 ? kParts : 1];

  __device__ void load(const float* row, int dims, int lane) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      const int j = 8 * i + (lane & 7);
      x[i] = row != nullptr && j < dims ? static_cast<double>(__ldg(row + j)) : 0.0;
    }
  }

  // D(row, vector), as team_exact_dot. Zeros past `dims` add nothing.
  __device__ double dot(const float* row, const float* vector, int dims, int lane) const {
    if constexpr (kParts == 0) {
      return team_exact_dot<40>(vector, row, dims, lane);
    } else {
      double sum = 0.0;
#pragma unroll
      for (int i = 0; i < kParts; ++i) {
        const int j = 8 * i + (lane & 7);
        if (8 * i < dims) sum = fma(x[i], j < dims ? static_cast<double>(vector[j]) : 0.0, sum);
      }
      sum += __shfl_xor_sync(kFullWarp, sum, 4);
      sum += __shfl_xor_sync(kFullWarp, sum, 2);
      sum += __shfl_xor_sync(kFullWarp, sum, 1);
      return sum;
    }
  }
};

// The row that a team decides, and the clusters that it may belong to.
struct UndecidedRow {
  int64_t row;               // 0 if there is none
  const uint16_t* clusters;  // null: all of them
  int count;                 // 0 if there is no row

  // `left`: the undecided rows from the team's on.
  __device__ UndecidedRow(const KMeansParams& params, int tile, uint32_t left) {
    row = left == 0 ? 0 : static_cast<int64_t>(tile) * kRowsPerTile + __ffs(static_cast<int>(left)) - 1;
    const uint16_t* const places = params.candidates + row * kCandidatePlaces;
    const int listed = left == 0 ? 0 : places[0];
    clusters = listed == 0 ? nullptr : places + 1;
    count = left == 0 ? 0 : listed == 0 ? params.centroids.count : listed;
  }
};

// Decides the undecided rows of a tile, one per team of eight lanes at a time. Called by a whole warp.
template <int kParts>
__device__ void decide_rows(const KMeansParams& params, int tile, int lane) {
  const int dims = params.part.dims;
  uint32_t undecided = params.undecided[tile];
  while (undecided != 0) {
    uint32_t left = undecided;
    for (int i = 0; i < lane >> 3; ++i) left &= left - 1;
    const UndecidedRow own(params, tile, left);
    const float* const vector = own.count > 0 ? params.part.vectors + own.row * dims : nullptr;
    const double row_norm = own.count > 0 ? params.part.norms_squared[own.row] : 1.0;
    TeamRow<kParts> row;
    row.load(vector, dims, lane);
    NearestTwo nearest = {-1, -1, -INFINITY, -INFINITY};
    int most = max(own.count, __shfl_xor_sync(kFullWarp, own.count, 8));
    most = max(most, __shfl_xor_sync(kFullWarp, most, 16));
    for (int i = 0; i < most; ++i) {
      const bool valid = i < own.count;
      const int cluster = !valid ? 0 : own.clusters == nullptr ? i : own.clusters[i];
      const double dot = row.dot(valid ? vector : nullptr,
                                 params.centroids.vectors + static_cast<int64_t>(cluster) * dims, dims, lane);
      if (valid)
        offer(nearest, cluster,
              device_cluster_score(params.metric, dot, row_norm, params.centroids.norms_squared[cluster]));
    }
    if (own.count > 0 && (lane & 7) == 0) {
      if (params.wanted == 1)
        params.next_labels[own.row] = nearest.first;
      else
        params.nearest[own.row] = nearest;
    }
    for (int i = 0; i < kTeams; ++i) undecided &= undecided - 1;
  }
  __syncwarp();
}

// Lists the rows of the block's tiles whose label changed. Called by all threads of the block.
__device__ void list_changes(const KMeansParams& params, int tile, int last_tile, int warp, int lane) {
  __shared__ uint32_t changed_rows[kWarps];
  __shared__ uint32_t block_first;
  const int64_t row = static_cast<int64_t>(tile) * kRowsPerTile + lane;
  const bool exists = tile < last_tile && row < params.part.rows;
  const int32_t from = exists ? params.labels[row] : 0;
  const int32_t to = exists ? params.next_labels[row] : 0;
  const uint32_t changed = __ballot_sync(kFullWarp, from != to);
  if (lane == 0) changed_rows[warp] = static_cast<uint32_t>(__popc(changed));
  __syncthreads();
  uint32_t before = 0;
  uint32_t all = 0;
  for (int i = 0; i < kWarps; ++i) {
    if (i < warp) before += changed_rows[i];
    all += changed_rows[i];
  }
  if (threadIdx.x == 0 && all > 0) block_first = atomicAdd(params.change_count, all);
  __syncthreads();
  if (from == to) return;
  const uint32_t lower_lanes = (1u << lane) - 1;
  params.changes[block_first + before + static_cast<uint32_t>(__popc(changed & lower_lanes))] = {
      static_cast<int32_t>(row), from, to};
  params.labels[row] = to;
}

// A warp per tile.
template <int kParts>
__global__ void __launch_bounds__(kThreads, kParts > 20 ? 2 : 3)
    kmeans_resolve_kernel(const __grid_constant__ KMeansParams params, int first_tile, int last_tile) {
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int tile = first_tile + static_cast<int>(blockIdx.x) * kWarps + warp;
  if (tile < last_tile) decide_rows<kParts>(params, tile, lane);
  if (params.wanted == 1) list_changes(params, tile, last_tile, warp, lane);
}

__global__ void kmeans_refill_kernel(const __grid_constant__ KMeansParams params, const int32_t* rows,
                                     const int32_t* clusters, int32_t count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) {
    params.changes[i] = {rows[i], params.labels[rows[i]], clusters[i]};
    params.labels[rows[i]] = clusters[i];
  }
  if (i == 0) *params.change_count = static_cast<uint32_t>(count);
}

}  // namespace

cudaError_t launch_kmeans_resolve(const KMeansParams& params, int32_t first_tile, int32_t last_tile,
                                  cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((last_tile - first_tile + kWarps - 1) / kWarps);
  if (params.part.dims <= 8 * 6)
    kmeans_resolve_kernel<6><<<blocks, kThreads, 0, stream>>>(params, first_tile, last_tile);
  else if (params.part.dims <= 8 * 16)
    kmeans_resolve_kernel<16><<<blocks, kThreads, 0, stream>>>(params, first_tile, last_tile);
  else if (params.part.dims <= 8 * 40)
    kmeans_resolve_kernel<40><<<blocks, kThreads, 0, stream>>>(params, first_tile, last_tile);
  else
    kmeans_resolve_kernel<0><<<blocks, kThreads, 0, stream>>>(params, first_tile, last_tile);
  return cudaGetLastError();
}

cudaError_t launch_kmeans_refill(const KMeansParams& params, const int32_t* rows, const int32_t* clusters,
                                 int32_t count, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(count / kThreads + 1);
  kmeans_refill_kernel<<<blocks, kThreads, 0, stream>>>(params, rows, clusters, count);
  return cudaGetLastError();
}

}  // namespace glove::gpu
