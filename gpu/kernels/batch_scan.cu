#include "gpu/kernels/batch_scan.h"

#include "gpu/kernels/batch_bounds.cuh"
#include "gpu/kernels/batch_wgmma.h"
#include "gpu/kernels/launch.cuh"
#include "gpu/layout/tile.h"
#include "gpu/primitives/warp/chunk_sums.cuh"

namespace glove::gpu {
namespace {

constexpr int kThreads = 384;
constexpr int kWarps = kThreads / kWarpLanes;
constexpr int kChunk = 32;          // queries that a warp multiplies at a time
constexpr int kResidentSteps = 10;  // steps of a tile that fit in a warp's registers: up to 320 dimensions

// Scales and residuals of the lane's four rows. Zero and padding rows, and those that are not in the mask,
// are inadmissible: they are never candidates and never counted towards a threshold.
template <bool kShifted>
struct LaneRows {
  float scale[4];
  float residual[4];  // for upper bounds; -infinity for inadmissible rows
  float along[kShifted ? 4 : 1];
  float length[kShifted ? 4 : 1];
  bool admissible[4];

  __device__ void load(const BatchScanParams& scan, int tile, uint32_t mask, int lane) {
    const int quad = tile * kQuadsPerGroup + (lane >> 2);
    const float4 s = __ldg(reinterpret_cast<const float4*>(scan.part.level.scales) + quad);
    const float4 r = __ldg(reinterpret_cast<const float4*>(scan.part.level.residuals) + quad);
    const float scales[4] = {s.x, s.y, s.z, s.w};
    const float residuals[4] = {r.x, r.y, r.z, r.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      admissible[i] = (kShifted ? residuals[i] != INFINITY : residuals[i] < INFINITY) &&
                      (mask >> ((lane >> 2) * kRowsPerQuad + i) & 1) != 0;
      scale[i] = admissible[i] ? scales[i] : 0.0f;
      residual[i] = admissible[i] ? residuals[i] : -INFINITY;
    }
    if constexpr (kShifted) {
      const float4 a = __ldg(reinterpret_cast<const float4*>(scan.part.level.along) + quad);
      const float4 l = __ldg(reinterpret_cast<const float4*>(scan.part.level.lengths) + quad);
      along[0] = a.x, along[1] = a.y, along[2] = a.z, along[3] = a.w;
      length[0] = l.x, length[1] = l.y, length[2] = l.z, length[3] = l.w;
    }
  }

  // The bounds that the sum of a row implies.
  __device__ ShiftedBounds bounds(const BatchQuery& query, float sum, int row) const {
    if constexpr (kShifted) {
      return shifted_bounds(query.bound, query.shift, sum, scale[row], residual[row], along[row],
                            length[row]);
    } else {
      const float estimate = query.bound.estimate(sum, scale[row]);
      const float error = query.bound.error(residual[row]);
      return {estimate - error, estimate + error};
    }
  }
};

// Stores the tile's largest lower bound for each query of the chunk. `order`: the tile's number in the
// sample.
template <bool kShifted>
__device__ void keep_best(const BatchScanParams& scan, const ChunkSums& sums, const LaneRows<kShifted>& rows,
                          int first_query, int order, int lane) {
#pragma unroll
  for (int block = 0; block < 4; ++block) {
#pragma unroll
    for (int column = 0; column < 2; ++column) {
      const int query = first_query + block * kBlockQueries + (lane & 3) * 2 + column;
      const BatchQuery& parameters = scan.parameters[query];
      float best = -INFINITY;
#pragma unroll
      for (int row = 0; row < 4; ++row)
        if (rows.admissible[row])
          best = fmaxf(best, rows.bounds(parameters, sums.get(row, block, column), row).lower);
      best = fmaxf(best, __shfl_xor_sync(kFullWarp, best, 4));
      best = fmaxf(best, __shfl_xor_sync(kFullWarp, best, 8));
      best = fmaxf(best, __shfl_xor_sync(kFullWarp, best, 16));
      if (lane < 4) scan.sample_best[static_cast<int64_t>(query) * scan.sample_groups + order] = best;
    }
  }
}

// The same for a tile without admissible rows.
__device__ void keep_none(const BatchScanParams& scan, int first_query, int queries, int order, int lane) {
#pragma unroll 1
  for (int i = lane; i < queries; i += kWarpLanes)
    scan.sample_best[static_cast<int64_t>(first_query + i) * scan.sample_groups + order] = -INFINITY;
}

// Appends the rows that a query's threshold does not rule out to the query's list.
template <bool kShifted>
__device__ void append(const BatchScanParams& scan, const ChunkSums& sums, const LaneRows<kShifted>& rows,
                       const ChunkQuery* chunk, const ChunkShift* shifts, int first_query, int tile,
                       int lane) {
  // What is at least 0, or no number, if the row's upper bound may reach the query's threshold.
  const auto excess = [&](int row, int block, int column, ChunkQuery query) {
    float rest = fmaf(rows.residual[row], query.slope, query.floor);
    if constexpr (kShifted)
      rest = shifts[block * kBlockQueries + (lane & 3) * 2 + column].add(rest, rows.along[row],
                                                                         rows.length[row]);
    return fmaf(sums.get(row, block, column), rows.scale[row], rest);
  };
  bool any = false;
#pragma unroll
  for (int block = 0; block < 4; ++block) {
    const float4 pair = *reinterpret_cast<const float4*>(chunk + block * kBlockQueries + (lane & 3) * 2);
#pragma unroll
    for (int row = 0; row < 4; ++row) {
      any |= !(excess(row, block, 0, {pair.x, pair.y}) < 0.0f);
      any |= !(excess(row, block, 1, {pair.z, pair.w}) < 0.0f);
    }
  }
  if (!any) return;
#pragma unroll
  for (int block = 0; block < 4; ++block) {
#pragma unroll
    for (int column = 0; column < 2; ++column) {
      const int in_chunk = block * kBlockQueries + (lane & 3) * 2 + column;
      const int query = first_query + in_chunk;
#pragma unroll
      for (int row = 0; row < 4; ++row) {
        if (excess(row, block, column, chunk[in_chunk]) < 0.0f) continue;
        if (query >= scan.queries || !rows.admissible[row]) continue;
        const ShiftedBounds bounds = rows.bounds(scan.parameters[query], sums.get(row, block, column), row);
        append_row(scan, query,
                   {tile * kRowsPerTile + (lane >> 2) * kRowsPerQuad + row,
                    static_cast<uint16_t>(bin_of(bounds.lower)), upper_code(bounds.upper)});
      }
    }
  }
}

// Copies the chunk's fragments and, for a scan against thresholds, its parameters to shared memory. Called by
// all threads of the block.
template <bool kSample, bool kShifted>
__device__ __forceinline__ void load_chunk(const BatchScanParams& scan, int chunk_first, int chunk_count,
                                           int pair_stride, uint4* fragments, ChunkQuery* chunk,
                                           ChunkShift* shifts) {
  const auto* from =
      reinterpret_cast<const uint4*>(scan.fragments) + chunk_first / kPairQueries * pair_stride;
  for (int i = static_cast<int>(threadIdx.x); i < chunk_count / kPairQueries * pair_stride; i += kThreads)
    fragments[i] = from[i];
  if constexpr (!kSample) {
    for (int i = static_cast<int>(threadIdx.x); i < chunk_count; i += kThreads) {
      chunk[i] = chunk_query(scan, chunk_first + i, scan.thresholds[chunk_first + i]);
      if constexpr (kShifted) shifts[i] = chunk_shift(scan, chunk_first + i);
    }
  }
}

// Query chunks of `chunk_queries` are assigned to blocks in turn, so that blocks of different chunks read the
// same tiles at about the same time. Shared memory holds the chunk's fragments and then its parameters.
// kShifted: the codes are shifted.
template <bool kSample, bool kResident, bool kShifted>
__global__ void __launch_bounds__(kThreads, 1)
    batch_kernel(const __grid_constant__ BatchScanParams scan, int first_tile, int last_tile,
                 int chunk_queries, int query_chunks) {
  extern __shared__ __align__(128) std::byte shared[];
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int chunk_first = static_cast<int>(blockIdx.x) % query_chunks * chunk_queries;
  const int chunk_count = min(chunk_queries, scan.padded_queries - chunk_first);
  const int pair_stride = scan.steps * kWarpLanes;  // uint4s per pair of blocks of queries

  auto* fragments = reinterpret_cast<uint4*>(shared);
  auto* chunk = reinterpret_cast<ChunkQuery*>(shared + static_cast<int64_t>(chunk_queries) / kPairQueries *
                                                           scan.steps * kPairStepBytes);
  auto* shifts = reinterpret_cast<ChunkShift*>(chunk + chunk_queries);
  load_chunk<kSample, kShifted>(scan, chunk_first, chunk_count, pair_stride, fragments, chunk, shifts);
  __syncthreads();

  const int teams = static_cast<int>(gridDim.x) / query_chunks;
  for (int order = first_tile + static_cast<int>(blockIdx.x) / query_chunks * kWarps + warp;
       order < last_tile; order += teams * kWarps) {
    const int tile =
        kSample ? static_cast<int>(static_cast<int64_t>(order) * scan.tiles / scan.sample_tiles) : order;
    const uint32_t mask = scan.part.mask.words == nullptr ? ~0u : __ldg(scan.part.mask.words + tile);
    if (mask == 0) {
      if constexpr (kSample) keep_none(scan, chunk_first, chunk_count, order, lane);
      continue;
    }
    const uint4* codes = reinterpret_cast<const uint4*>(scan.part.level.codes) +
                         static_cast<int64_t>(tile) * scan.groups * kQuadsPerGroup;
    TileStep resident[kResident ? kResidentSteps : 1];
    if constexpr (kResident) {
#pragma unroll
      for (int step = 0; step < kResidentSteps; ++step)
        if (step < scan.steps) resident[step] = load_step(codes, scan.groups, step, lane);
    }
    LaneRows<kShifted> rows;
    rows.load(scan, tile, mask, lane);
    for (int first = 0; first < chunk_count; first += kChunk) {
      ChunkSums sums;
      sums.clear();
      const uint4* words = fragments + first / kPairQueries * pair_stride + lane;
      if constexpr (kResident) {
#pragma unroll
        for (int step = 0; step < kResidentSteps; ++step)
          if (step < scan.steps) sums.add(resident[step], words + step * kWarpLanes, pair_stride);
      } else {
        for (int step = 0; step < scan.steps; ++step)
          sums.add(load_step(codes, scan.groups, step, lane), words + step * kWarpLanes, pair_stride);
      }
      if constexpr (kSample)
        keep_best(scan, sums, rows, chunk_first + first, order, lane);
      else
        append(scan, sums, rows, chunk + first, shifts + first, chunk_first + first, tile, lane);
    }
  }
}

// Computes the threshold from a query's sample, and from the least bound that it needs. One block per query.
__global__ void __launch_bounds__(256) threshold_kernel(const __grid_constant__ BatchScanParams scan) {
  __shared__ uint32_t counts[kBins];
  __shared__ ThresholdScratch scratch;
  const int64_t query = blockIdx.x;
  for (int i = static_cast<int>(threadIdx.x); i < kBins; i += static_cast<int>(blockDim.x)) counts[i] = 0;
  __syncthreads();
  const float* best = scan.sample_best + query * scan.sample_groups;
  for (int i = static_cast<int>(threadIdx.x); i < scan.sample_groups; i += static_cast<int>(blockDim.x))
    if (best[i] > -INFINITY) atomicAdd(counts + bin_of(best[i]), 1u);
  __syncthreads();
  const float threshold = block_threshold(counts, static_cast<uint32_t>(scan.top_rows), scratch);
  if (threadIdx.x == 0) scan.thresholds[query] = fmaxf(threshold, scan.parameters[query].least);
}

// Tightens a query's threshold: a list with the rows of some tiles implies a threshold just as a sample does.
// One block per query.
__global__ void __launch_bounds__(256)
    tighten_threshold_kernel(const __grid_constant__ BatchScanParams scan) {
  __shared__ uint32_t counts[kBins];
  __shared__ ThresholdScratch scratch;
  const float threshold = list_threshold(scan, blockIdx.x, counts, scratch);
  if (threadIdx.x == 0) scan.thresholds[blockIdx.x] = fmaxf(threshold, scan.thresholds[blockIdx.x]);
}

template <bool kSample, bool kResident, bool kShifted>
cudaError_t launch_batch(const BatchScanParams& scan, int first, int last, const DeviceShape& shape,
                         cudaStream_t stream) {
  const int room = shape.shared_limit - 1024;
  const int pair_bytes = scan.steps * kPairStepBytes;
  constexpr int kQueryBytes = sizeof(ChunkQuery) + (kShifted ? sizeof(ChunkShift) : 0);
  const int per_pair = pair_bytes + kPairQueries * kQueryBytes;
  const int fitting = room / per_pair * kPairQueries / kChunk * kChunk;
  if (fitting == 0) return cudaErrorInvalidConfiguration;
  const int query_chunks = (scan.padded_queries + fitting - 1) / fitting;
  const int chunk_queries =
      ((scan.padded_queries + query_chunks - 1) / query_chunks + kChunk - 1) / kChunk * kChunk;
  const int shared_bytes = chunk_queries / kPairQueries * per_pair;
  const int64_t blocks = blocks_in_teams(last - first, kWarps, query_chunks, shape);
  return launch(batch_kernel<kSample, kResident, kShifted>, {blocks, kThreads, shared_bytes, room}, stream,
                scan, first, last, chunk_queries, query_chunks);
}

template <bool kSample>
cudaError_t launch_batch(const BatchScanParams& scan, int first, int last, const DeviceShape& shape,
                         cudaStream_t stream) {
  const bool resident = scan.steps <= kResidentSteps;
  if (scan.part.level.along != nullptr)
    return resident ? launch_batch<kSample, true, true>(scan, first, last, shape, stream)
                    : launch_batch<kSample, false, true>(scan, first, last, shape, stream);
  return resident ? launch_batch<kSample, true, false>(scan, first, last, shape, stream)
                  : launch_batch<kSample, false, false>(scan, first, last, shape, stream);
}

}  // namespace

cudaError_t launch_batch_thresholds(const BatchScanParams& scan, const DeviceShape& shape,
                                    cudaStream_t stream) {
  const cudaError_t error = scan.columns != nullptr
                                ? launch_wgmma_sample(scan, shape, stream)
                                : launch_batch<true>(scan, 0, scan.sample_tiles, shape, stream);
  if (error != cudaSuccess) return error;
  return launch(threshold_kernel, {scan.queries, 256}, stream, scan);
}

cudaError_t launch_batch_lists(const BatchScanParams& scan, int32_t first, int32_t last,
                               const DeviceShape& shape, cudaStream_t stream) {
  if (first >= last) return cudaSuccess;
  return scan.columns != nullptr ? launch_wgmma_lists(scan, first, last, shape, stream)
                                 : launch_batch<false>(scan, first, last, shape, stream);
}

cudaError_t launch_batch_tighten(const BatchScanParams& scan, cudaStream_t stream) {
  return launch(tighten_threshold_kernel, {scan.queries, 256}, stream, scan);
}

}  // namespace glove::gpu
