#include "gpu/kernels/kmeans.h"
#include "gpu/kernels/kmeans_changes.cuh"
#include "gpu/kernels/kmeans_ranking.cuh"
#include "gpu/kernels/launch.cuh"
#include "gpu/layout/tile.h"
#include "gpu/primitives/warp/exact_dot.cuh"

namespace glove::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpLanes;
constexpr int kTeams = kWarpLanes / 8;  // per warp
constexpr int kBlockTeams = kThreads / 8;
constexpr int kBlocksPerMultiprocessor = 4;
constexpr int kBlocksPerOpenBlock = 16;

constexpr NearestTwo kNone = {-1, -1, -INFINITY, -INFINITY};

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

// The dot product of a row and a centroid. Called by a whole warp; a team of eight lanes without a row passes
// row = -1.
__device__ double dot_with(const KMeansParams& params, int32_t row, int32_t cluster, int lane) {
  const int dims = params.part.dims;
  return team_exact_dot(params.centroids.vectors + static_cast<int64_t>(cluster) * dims,
                        row < 0 ? nullptr : params.part.vectors + static_cast<int64_t>(row) * dims, dims,
                        lane);
}

// The exact score of a row for a cluster; called like dot_with().
__device__ double exact_score(const KMeansParams& params, int32_t row, int32_t cluster, int lane) {
  const double dot = dot_with(params, row, cluster, lane);
  return device_cluster_score(params.metric, dot, params.part.norms_squared[row < 0 ? 0 : row],
                              params.centroids.norms_squared[cluster]);
}

// The best cluster of a row so far, by cosine, and whether another one may be as near: most are not, which
// their dot products say without a root and a division.
struct BestCosine {
  double dot = 0;
  double norm_squared = 1;

  __device__ bool may_reach(double other_dot, double other_norm_squared) const {
    constexpr double kSlack = 1 - 0x1p-40;  // for the roundings here and of the cosines
    if (!(dot > 0)) return true;
    return other_dot > 0 && !(other_dot * other_dot * norm_squared < dot * dot * other_norm_squared * kSlack);
  }
};

// Records what the lanes with `writes` have found for their rows. Called by a whole warp.
__device__ void record(const KMeansParams& params, int32_t row, const NearestTwo& nearest, bool writes) {
  if (params.answer == KMeansAnswer::kLabels) {
    const int32_t from = writes ? params.fit.labels[row] : -1;
    list_change(params, row, from, nearest.first, writes && from != nearest.first);
  } else if (writes) {
    params.nearest[row] = nearest;
  }
}

// Decides the rows that belong to one of a few clusters, one per team of eight lanes at a time.
__device__ void decide_undecided(const KMeansParams& params, int warp, int warps, int lane) {
  const auto count = static_cast<int64_t>(params.counters->undecided);
  for (int64_t base = int64_t{warp} * kTeams; base < count; base += int64_t{warps} * kTeams) {
    const int64_t place = base + (lane >> 3);
    RowCandidates undecided = {-1, {-1, -1, -1, -1}};
    if (place < count) undecided = params.undecided[place];
    NearestTwo nearest = kNone;
#pragma unroll
    for (const int32_t cluster : undecided.clusters) {
      const bool exists = cluster >= 0;
      if (!__any_sync(kFullWarp, exists)) break;
      const double score = exact_score(params, exists ? undecided.row : -1, exists ? cluster : 0, lane);
      if (exists) offer(nearest, cluster, score);
    }
    record(params, undecided.row, nearest, place < count && (lane & 7) == 0);
  }
}

// Adds what another lane has found.
__device__ void combine(NearestTwo& nearest, int distance) {
  NearestTwo other;
  other.first = __shfl_xor_sync(kFullWarp, nearest.first, distance);
  other.second = __shfl_xor_sync(kFullWarp, nearest.second, distance);
  other.first_score = __shfl_xor_sync(kFullWarp, nearest.first_score, distance);
  other.second_score = __shfl_xor_sync(kFullWarp, nearest.second_score, distance);
  if (other.first >= 0) offer(nearest, other.first, other.first_score);
  if (other.second >= 0) offer(nearest, other.second, other.second_score);
}

// Decides the rows that belong to one of a few groups of clusters, one per warp at a time.
__device__ void decide_grouped(const KMeansParams& params, int warp, int warps, int lane) {
  constexpr int kRounds = kGroupClusters / kTeams;  // per group
  const auto count = static_cast<int>(params.counters->grouped);
  for (int place = warp; place < count; place += warps) {
    const RowCandidates* const undecided = params.wgmma.grouped + place;
    const int32_t row = undecided->row;
    NearestTwo nearest = kNone;
#pragma unroll 1
    for (int i = 0; i < kMostCandidates * kRounds; ++i) {
      const int32_t named = undecided->clusters[i / kRounds];
      if (named < 0) break;
      const int32_t cluster = group_member(named, i % kRounds * kTeams + (lane >> 3));
      const bool exists = cluster < params.centroids.count;
      const double score = exact_score(params, exists ? row : -1, exists ? cluster : 0, lane);
      if (exists) offer(nearest, cluster, score);
    }
    combine(nearest, 8);
    combine(nearest, 16);
    record(params, row, nearest, lane == 0);
  }
}

// Decides the rows that may belong to any cluster, one per block at a time. found: [kBlockTeams], shared.
__device__ void decide_open(const KMeansParams& params, NearestTwo* found) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int team = static_cast<int>(threadIdx.x) >> 3;
  const uint32_t count = params.counters->open;
  const bool only_best = params.answer == KMeansAnswer::kLabels && params.metric == Metric::kCosine;
  for (uint32_t place = blockIdx.x; place < count; place += gridDim.x) {
    const int32_t row = params.open[place];
    const double row_norm = params.part.norms_squared[row];
    NearestTwo nearest = kNone;
    BestCosine best;
    for (int first = team / kTeams * kTeams; first < params.centroids.count; first += kBlockTeams) {
      const int cluster = first + team % kTeams;
      const bool exists = cluster < params.centroids.count;
      const double dot = dot_with(params, exists ? row : -1, exists ? cluster : 0, lane);
      if (!exists) continue;
      const double norm = params.centroids.norms_squared[cluster];
      if (only_best && !best.may_reach(dot, norm)) continue;
      offer(nearest, cluster, device_cluster_score(params.metric, dot, row_norm, norm));
      if (nearest.first == cluster) best = {dot, norm};
    }
    if ((lane & 7) == 0) found[team] = nearest;
    __syncthreads();
    if (threadIdx.x < kWarpLanes) {
      for (int i = 0; i < kBlockTeams; ++i) {
        if (i == 0) nearest = kNone;
        if (found[i].first >= 0) offer(nearest, found[i].first, found[i].first_score);
        if (found[i].second >= 0) offer(nearest, found[i].second, found[i].second_score);
      }
      record(params, row, nearest, threadIdx.x == 0);
    }
    __syncthreads();
  }
}

// A row that may belong to any cluster takes long, so a few blocks do nothing else.
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    kmeans_resolve_kernel(const __grid_constant__ KMeansParams params) {
  __shared__ NearestTwo found[kBlockTeams];
  const auto few = static_cast<int>(gridDim.x / kBlocksPerOpenBlock);
  const int block = static_cast<int>(blockIdx.x) - few;
  if (block >= 0) {
    const int warp = block * kWarps + static_cast<int>(threadIdx.x >> 5);
    const int warps = (static_cast<int>(gridDim.x) - few) * kWarps;
    const int lane = static_cast<int>(threadIdx.x) & 31;
    decide_grouped(params, warps - 1 - warp, warps, lane);
    decide_undecided(params, warp, warps, lane);
  }
  decide_open(params, found);
}

__global__ void kmeans_refill_kernel(const __grid_constant__ KMeansParams params, const int32_t* rows,
                                     const int32_t* clusters, int32_t count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) {
    params.fit.changes[i] = {rows[i], params.fit.labels[rows[i]], clusters[i]};
    params.fit.labels[rows[i]] = clusters[i];
    params.fit.limits[rows[i]] = -INFINITY;
  }
  if (i == 0) params.counters->changes = static_cast<uint32_t>(count);
}

}  // namespace

cudaError_t launch_kmeans_resolve(const KMeansParams& params, const DeviceShape& shape, cudaStream_t stream) {
  return launch(kmeans_resolve_kernel, {shape.multiprocessors * kBlocksPerMultiprocessor, kThreads}, stream,
                params);
}

cudaError_t launch_kmeans_refill(const KMeansParams& params, const int32_t* rows, const int32_t* clusters,
                                 int32_t count, cudaStream_t stream) {
  return launch(kmeans_refill_kernel, {count / kThreads + 1, kThreads}, stream, params, rows, clusters,
                count);
}

}  // namespace glove::gpu
