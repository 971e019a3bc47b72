#include "gpu/kernels/kmeans.h"

#include "gpu/tile.h"
#include "gpu/warp/chunk_sums.cuh"
#include "gpu/warp/reduce.cuh"

namespace glove::gpu {
namespace {

constexpr int kThreads = 384;
constexpr int kWarps = kThreads / kWarpLanes;
constexpr int kChunk = 32;          // centroids that a warp multiplies at a time
constexpr int kResidentSteps = 10;  // steps of a tile that fit in a warp's registers: up to 320 dimensions
constexpr int kSlots = kCandidatePlaces - 1;
constexpr int kSlotsBeforePruning = 6;  // leaves room for the candidates of a chunk
// The same constants as in cpu/assign.cpp, whose bounds these are.
constexpr double kRowSlack = 0x1p-46;
constexpr double kSmallSlack = 0x1p-100;
constexpr double kShortRow = 0x1p-60;

// The candidates of a warp's tile, in shared memory.
struct TileCandidates {
  uint32_t counts[kRowsPerTile];   // candidates offered since the last pruning; above kSlots: some are lost
  float thresholds[kRowsPerTile];  // an upper bound below it rules a centroid out
  float uppers[kRowsPerTile][kSlots];
  uint16_t clusters[kRowsPerTile][kSlots];
};

// The factors of the lane's four rows, as in cpu/cluster_kernels.h, and the best bounds so far.
struct ScanRows {
  float scale[4];
  float residual[4];
  float inverse_norm[4];
  float slack[4];
  float best[4];    // +infinity for a row that takes no part
  float second[4];  // the second highest lower bound

  template <bool kEuclidean>
  __device__ void load(const KMeansParams& params, int tile, int lane) {
    const int64_t own = static_cast<int64_t>(tile) * kRowsPerTile + lane;
    float own_inverse = 0.0f;
    float own_slack = 0.0f;
    if (kEuclidean && own < params.part.rows) {
      const double norm = __dmul_rn(__dsqrt_rn(params.part.norms_squared[own]), params.scale);
      own_inverse = norm < kShortRow ? INFINITY : __double2float_rn(__ddiv_rn(1.0, norm));
      own_slack = __double2float_ru(norm * kRowSlack + kSmallSlack);
    }
    const int quad = tile * kQuadsPerGroup + (lane >> 2);
    const float4 s = __ldg(reinterpret_cast<const float4*>(params.part.level.scales) + quad);
    const float4 r = __ldg(reinterpret_cast<const float4*>(params.part.level.residuals) + quad);
    const float scales[4] = {s.x, s.y, s.z, s.w};
    const float residuals[4] = {r.x, r.y, r.z, r.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int in_tile = (lane >> 2) * kRowsPerQuad + i;
      const bool row_exists = static_cast<int64_t>(tile) * kRowsPerTile + in_tile < params.part.rows;
      const bool takes_part = row_exists && (kEuclidean || residuals[i] < INFINITY);
      scale[i] = takes_part ? scales[i] : 0.0f;
      residual[i] = takes_part ? residuals[i] : 0.0f;
      inverse_norm[i] = __shfl_sync(kFullWarp, own_inverse, in_tile);
      slack[i] = __shfl_sync(kFullWarp, own_slack, in_tile);
      best[i] = second[i] = takes_part ? -INFINITY : INFINITY;
    }
  }

  template <bool kEuclidean>
  __device__ float upper(int i, float sum, const ClusterBound& bound) const {
    float error = fmaf(residual[i], bound.slope, bound.offset);
    if (kEuclidean) error = fmaf(inverse_norm[i], bound.upper_half, error + slack[i]);
    return fmaf(sum, scale[i] * bound.estimate, error);
  }

  template <bool kEuclidean>
  __device__ float lower(int i, float sum, const ClusterBound& bound, float lower_half) const {
    float error = fmaf(residual[i], bound.slope, bound.offset);
    if (kEuclidean) error = fmaf(inverse_norm[i], lower_half, error + slack[i]);
    return fmaf(sum, scale[i] * bound.estimate, -error);
  }

  __device__ float threshold(int i, int wanted) const {
    return wanted == 1 ? best[i] : second[i];
  }
};

// Inserts a number into the two largest.
__device__ inline void insert(float value, float& best, float& second) {
  second = fmaxf(second, fminf(best, value));
  best = fmaxf(best, value);
}

// The block's view of the centroids that are in shared memory.
struct CentroidSlice {
  const uint4* fragments;
  const ClusterBound* bounds;
  const float* lower_halves;
  int first;  // cluster
  int count;  // a multiple of kChunk
};

// Whether a centroid of the chunk may win one of the lane's rows.
template <bool kEuclidean>
__device__ __forceinline__ bool may_win(const ChunkSums& sums, const ScanRows& rows,
                                        const ClusterBound* bounds, int wanted, int lane) {
  bool any = false;
#pragma unroll
  for (int block = 0; block < 4; ++block) {
#pragma unroll
    for (int column = 0; column < 2; ++column) {
      const ClusterBound bound = bounds[block * kBlockQueries + (lane & 3) * 2 + column];
#pragma unroll
      for (int row = 0; row < 4; ++row)
        any |=
            !(rows.upper<kEuclidean>(row, sums.get(row, block, column), bound) < rows.threshold(row, wanted));
    }
  }
  return any;
}

// Raises the rows' best lower bounds by those of the chunk. All four lanes that share rows get the result.
template <bool kEuclidean>
__device__ void raise_thresholds(const ChunkSums& sums, ScanRows& rows, const CentroidSlice& slice, int first,
                                 int clusters, int lane) {
  float best[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  float second[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
#pragma unroll
  for (int block = 0; block < 4; ++block) {
#pragma unroll
    for (int column = 0; column < 2; ++column) {
      const int place = first + block * kBlockQueries + (lane & 3) * 2 + column;
      const ClusterBound bound = slice.bounds[place];
      const float lower_half = slice.lower_halves[place];
      if (slice.first + place >= clusters) continue;
#pragma unroll
      for (int row = 0; row < 4; ++row)
        insert(rows.lower<kEuclidean>(row, sums.get(row, block, column), bound, lower_half), best[row],
               second[row]);
    }
  }
#pragma unroll
  for (int row = 0; row < 4; ++row) {
#pragma unroll
    for (int distance = 1; distance <= 2; distance *= 2) {
      const float other_best = __shfl_xor_sync(kFullWarp, best[row], distance);
      const float other_second = __shfl_xor_sync(kFullWarp, second[row], distance);
      insert(other_best, best[row], second[row]);
      second[row] = fmaxf(second[row], other_second);
    }
    insert(best[row], rows.best[row], rows.second[row]);
    rows.second[row] = fmaxf(rows.second[row], second[row]);
  }
}

// Offers the centroids of the chunk that may win a row to its candidates.
template <bool kEuclidean>
__device__ void offer_candidates(const ChunkSums& sums, const ScanRows& rows, const CentroidSlice& slice,
                                 int first, const KMeansParams& params, int lane, TileCandidates& tile) {
#pragma unroll
  for (int block = 0; block < 4; ++block) {
#pragma unroll
    for (int column = 0; column < 2; ++column) {
      const int place = first + block * kBlockQueries + (lane & 3) * 2 + column;
      const ClusterBound bound = slice.bounds[place];
      if (slice.first + place >= params.centroids.count) continue;
#pragma unroll
      for (int row = 0; row < 4; ++row) {
        const float upper = rows.upper<kEuclidean>(row, sums.get(row, block, column), bound);
        if (upper < rows.threshold(row, params.wanted) || rows.best[row] == INFINITY) continue;
        const int in_tile = (lane >> 2) * kRowsPerQuad + row;
        const uint32_t slot = atomicAdd(tile.counts + in_tile, 1u);
        if (slot >= kSlots) continue;
        tile.uppers[in_tile][slot] = upper;
        tile.clusters[in_tile][slot] = static_cast<uint16_t>(slice.first + place);
      }
    }
  }
  if ((lane & 3) == 0) {
#pragma unroll
    for (int row = 0; row < 4; ++row)
      tile.thresholds[(lane >> 2) * kRowsPerQuad + row] = rows.threshold(row, params.wanted);
  }
  __syncwarp();
}

// Drops the candidates of the lane's row that the threshold has ruled out since.
__device__ void prune(TileCandidates& tile, int lane, uint32_t from) {
  const uint32_t count = tile.counts[lane];
  if (count >= from && count <= kSlots) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const float upper = tile.uppers[lane][i];
      if (upper < tile.thresholds[lane]) continue;
      tile.uppers[lane][kept] = upper;
      tile.clusters[lane][kept++] = tile.clusters[lane][i];
    }
    tile.counts[lane] = kept;
  }
  __syncwarp();
}

// Multiplies the tile with a slice of the centroids and keeps the candidates.
template <bool kEuclidean, bool kResident>
__device__ __forceinline__ void scan_slice(const KMeansParams& params, const CentroidSlice& slice,
                                           const uint4* codes, const TileStep* resident, ScanRows& rows,
                                           int lane, TileCandidates& tile) {
  const int pair_stride = params.steps * kWarpLanes;
  for (int first = 0; first < slice.count; first += kChunk) {
    ChunkSums sums;
    sums.clear();
    const uint4* words = slice.fragments + first / kPairQueries * pair_stride + lane;
    if constexpr (kResident) {
#pragma unroll
      for (int step = 0; step < kResidentSteps; ++step)
        if (step < params.steps) sums.add(resident[step], words + step * kWarpLanes, pair_stride);
    } else {
      for (int step = 0; step < params.steps; ++step)
        sums.add(load_step(codes, params.groups, step, lane), words + step * kWarpLanes, pair_stride);
    }
    if (!__any_sync(kFullWarp, may_win<kEuclidean>(sums, rows, slice.bounds + first, params.wanted, lane)))
      continue;
    raise_thresholds<kEuclidean>(sums, rows, slice, first, params.centroids.count, lane);
    offer_candidates<kEuclidean>(sums, rows, slice, first, params, lane, tile);
    prune(tile, lane, kSlotsBeforePruning);
  }
}

// Writes what is known of the lane's row.
__device__ void finish(const KMeansParams& params, int tile_number, TileCandidates& tile, bool takes_part,
                       int lane) {
  prune(tile, lane, 1);
  const int64_t row = static_cast<int64_t>(tile_number) * kRowsPerTile + lane;
  const uint32_t count = takes_part ? tile.counts[lane] : 0;
  const bool decided = !takes_part || (count == 1 && params.wanted == 1);
  if (decided && row < params.part.rows) {
    if (params.wanted == 1)
      params.next_labels[row] = takes_part ? tile.clusters[lane][0] : -1;
    else
      params.nearest[row] = {-1, -1, -INFINITY, -INFINITY};
  }
  if (!decided) {
    // Fewer than are wanted: a damaged file, or fewer clusters than two.
    const bool listed = count >= static_cast<uint32_t>(params.wanted) && count <= kSlots;
    uint16_t* const places = params.candidates + row * kCandidatePlaces;
    places[0] = listed ? static_cast<uint16_t>(count) : 0;
    for (uint32_t i = 0; listed && i < count; ++i) places[1 + i] = tile.clusters[lane][i];
  }
  const uint32_t undecided = __ballot_sync(kFullWarp, !decided);
  if (lane == 0) params.undecided[tile_number] = undecided;
}

// Copies centroids [slice.first, slice.first + slice.count) to shared memory. Called by all threads.
__device__ void load_slice(const KMeansParams& params, CentroidSlice& slice, int slice_centroids,
                           std::byte* shared) {
  const int pair_stride = params.steps * kWarpLanes;
  slice.count = min(slice_centroids, params.centroids.padded - slice.first);
  auto* fragments = reinterpret_cast<uint4*>(shared);
  auto* bounds = reinterpret_cast<ClusterBound*>(fragments + slice_centroids / kPairQueries * pair_stride);
  auto* halves = reinterpret_cast<float*>(bounds + slice_centroids);
  const auto* from = reinterpret_cast<const uint4*>(params.centroids.fragments) +
                     static_cast<int64_t>(slice.first) / kPairQueries * pair_stride;
  for (int i = static_cast<int>(threadIdx.x); i < slice.count / kPairQueries * pair_stride; i += kThreads)
    fragments[i] = from[i];
  for (int i = static_cast<int>(threadIdx.x); i < slice.count; i += kThreads) {
    bounds[i] = params.centroids.bounds[slice.first + i];
    halves[i] = params.centroids.lower_halves[slice.first + i];
  }
  slice.fragments = fragments;
  slice.bounds = bounds;
  slice.lower_halves = halves;
}

// A warp per tile; the warps of a block share the centroids in shared memory, `slice_centroids` at a time.
template <bool kEuclidean, bool kResident>
__global__ void __launch_bounds__(kThreads, 1)
    kmeans_scan_kernel(const __grid_constant__ KMeansParams params, int first_tile, int last_tile,
                       int slice_centroids) {
  extern __shared__ __align__(128) std::byte shared[];
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  auto& candidates = reinterpret_cast<TileCandidates*>(shared)[warp];
  std::byte* const slices = shared + (kWarps * sizeof(TileCandidates) + 127) / 128 * 128;
  const bool one_slice = slice_centroids >= params.centroids.padded;
  CentroidSlice slice = {};
  if (one_slice) {
    load_slice(params, slice, slice_centroids, slices);
    __syncthreads();
  }
  for (int base = first_tile + static_cast<int>(blockIdx.x) * kWarps; base < last_tile;
       base += static_cast<int>(gridDim.x) * kWarps) {
    const int tile = base + warp;
    const bool active = tile < last_tile;
    const uint4* const codes = reinterpret_cast<const uint4*>(params.part.level.codes) +
                               static_cast<int64_t>(tile) * params.groups * kQuadsPerGroup;
    TileStep resident[kResident ? kResidentSteps : 1];
    ScanRows rows;
    if (active) {
      if constexpr (kResident) {
#pragma unroll
        for (int step = 0; step < kResidentSteps; ++step)
          if (step < params.steps) resident[step] = load_step(codes, params.groups, step, lane);
      }
      rows.load<kEuclidean>(params, tile, lane);
      candidates.counts[lane] = 0;
      __syncwarp();
    }
    for (slice.first = 0; slice.first < params.centroids.padded; slice.first += slice_centroids) {
      if (!one_slice) {
        __syncthreads();
        load_slice(params, slice, slice_centroids, slices);
        __syncthreads();
      }
      if (active) scan_slice<kEuclidean, kResident>(params, slice, codes, resident, rows, lane, candidates);
    }
    if (active) {
      const int64_t row = static_cast<int64_t>(tile) * kRowsPerTile + lane;
      const bool takes_part =
          row < params.part.rows && (kEuclidean || params.part.level.residuals[row] < INFINITY);
      finish(params, tile, candidates, takes_part, lane);
      __syncwarp();
    }
  }
}

template <bool kEuclidean, bool kResident>
cudaError_t launch(const KMeansParams& params, int32_t first_tile, int32_t last_tile, const BatchShape& shape,
                   cudaStream_t stream) {
  const auto fixed = static_cast<int>((kWarps * sizeof(TileCandidates) + 127) / 128 * 128);
  const int room = shape.shared_limit - fixed;
  const int per_chunk = kChunk / kPairQueries * params.steps * kPairStepBytes +
                        kChunk * static_cast<int>(sizeof(ClusterBound) + 4);
  const int fitting = room / per_chunk * kChunk;
  if (fitting <= 0) return cudaErrorInvalidConfiguration;
  const int slice = fitting < params.centroids.padded ? fitting : params.centroids.padded;
  const auto kernel = &kmeans_scan_kernel<kEuclidean, kResident>;
  const int bytes = fixed + slice / kChunk * per_chunk;
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) return error;
  const int useful = (last_tile - first_tile + kWarps - 1) / kWarps;
  const int blocks = useful < shape.multiprocessors ? useful : shape.multiprocessors;
  kernel<<<static_cast<unsigned>(blocks), kThreads, static_cast<size_t>(bytes), stream>>>(params, first_tile,
                                                                                          last_tile, slice);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_kmeans_scan(const KMeansParams& params, int32_t first_tile, int32_t last_tile,
                               const BatchShape& shape, cudaStream_t stream) {
  const bool resident = params.steps <= kResidentSteps;
  if (params.metric == Metric::kEuclidean)
    return resident ? launch<true, true>(params, first_tile, last_tile, shape, stream)
                    : launch<true, false>(params, first_tile, last_tile, shape, stream);
  return resident ? launch<false, true>(params, first_tile, last_tile, shape, stream)
                  : launch<false, false>(params, first_tile, last_tile, shape, stream);
}

}  // namespace glove::gpu
