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

// Decides the undecided rows of a tile, one per team of eight lanes at a time. Called by a whole warp.
__device__ void decide_rows(const KMeansParams& params, int tile, int lane) {
  const int team = lane >> 3;
  const int dims = params.part.dims;
  uint32_t undecided = params.undecided[tile];
  while (undecided != 0) {
    uint32_t left = undecided;
    for (int i = 0; i < team; ++i) left &= left - 1;
    const int64_t row =
        static_cast<int64_t>(tile) * kRowsPerTile + (left != 0 ? __ffs(static_cast<int>(left)) - 1 : 0);
    const uint16_t* const places = params.candidates + row * kCandidatePlaces;
    const int listed = left != 0 ? places[0] : 0;
    const int count = left == 0 ? 0 : listed == 0 ? params.centroids.count : listed;
    const float* const vector = params.part.vectors + row * dims;
    const double row_norm = left != 0 ? params.part.norms_squared[row] : 1.0;
    NearestTwo nearest = {-1, -1, -INFINITY, -INFINITY};
    int most = max(count, __shfl_xor_sync(kFullWarp, count, 8));
    most = max(most, __shfl_xor_sync(kFullWarp, most, 16));
    for (int i = 0; i < most; ++i) {
      const bool valid = i < count;
      const int cluster = !valid ? 0 : listed == 0 ? i : places[1 + i];
      const double dot = team_exact_dot<40>(params.centroids.vectors + static_cast<int64_t>(cluster) * dims,
                                            valid ? vector : nullptr, dims, lane);
      if (valid)
        offer(nearest, cluster,
              device_cluster_score(params.metric, dot, row_norm, params.centroids.norms_squared[cluster]));
    }
    if (left != 0 && (lane & 7) == 0) {
      if (params.wanted == 1)
        params.next_labels[row] = nearest.first;
      else
        params.nearest[row] = nearest;
    }
    for (int i = 0; i < kTeams; ++i) undecided &= undecided - 1;
  }
  __syncwarp();
}

// A warp per tile.
__global__ void __launch_bounds__(kThreads)
    kmeans_resolve_kernel(const __grid_constant__ KMeansParams params, int first_tile, int last_tile) {
  __shared__ uint32_t changed_rows[kWarps];
  __shared__ uint32_t block_first;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int tile = first_tile + static_cast<int>(blockIdx.x) * kWarps + warp;
  if (tile < last_tile) decide_rows(params, tile, lane);
  if (params.wanted != 1) return;
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
  kmeans_resolve_kernel<<<blocks, kThreads, 0, stream>>>(params, first_tile, last_tile);
  return cudaGetLastError();
}

cudaError_t launch_kmeans_refill(const KMeansParams& params, const int32_t* rows, const int32_t* clusters,
                                 int32_t count, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(count / kThreads + 1);
  kmeans_refill_kernel<<<blocks, kThreads, 0, stream>>>(params, rows, clusters, count);
  return cudaGetLastError();
}

}  // namespace glove::gpu
