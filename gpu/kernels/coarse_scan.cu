#include "gpu/kernels/coarse_scan.h"

#include <algorithm>

#include "gpu/kernels/single_query.cuh"
#include "gpu/layout/packed_rows.h"
#include "gpu/primitives/block/grid_barrier.cuh"
#include "gpu/primitives/block/threshold.cuh"
#include "gpu/primitives/warp/nibble_dots.cuh"

namespace glove::gpu {
namespace {

constexpr int kCodeLoads = 10;           // 16-byte quads of a tile's codes in flight per lane
constexpr int kRowsPerPass = kBins / 2;  // rows that a block looks up at a time
constexpr int kQuadLoads = 5;            // 16-byte quads of a packed row in flight per lane
constexpr int kLookupLanes = 4;          // lanes that look up one packed row

// The best row that a lane has seen; -1 if there is none.
struct Best {
  float estimate = -INFINITY;
  int row = -1;
};

// Counts the exact similarities of the best of the warp's lanes. They are lower bounds, of different rows.
__device__ void count_seeds(const SingleScanParams& scan, int seeds_per_warp, const float* query, Best best,
                            int lane) {
  for (int first = 0; first < seeds_per_warp; first += 4) {
    int row = -1;
    for (int team = 0; team < min(4, seeds_per_warp - first); ++team) {
      const float top = warp_max(best.estimate);
      const int winner = __ffs(static_cast<int>(__ballot_sync(kFullWarp, best.estimate == top))) - 1;
      const int seed = __shfl_sync(kFullWarp, best.row, winner);
      if (lane == winner) best = Best();
      if (lane >> 3 == team) row = seed;
    }
    const double similarity = team_similarity(scan, query, row, lane);
    if ((lane & 7) == 0 && similarity > kNoSimilarity)
      atomicAdd(scan.counters->histogram + bin_of(__double2float_rd(similarity)), 1u);
  }
}

// Returns the bound that the packed row of a team of four lanes implies, in all lanes of the team; a team
// without a row passes row < 0 and gets kNoBound. Called by whole warps.
__device__ RowBound packed_row_bound(const SingleScanParams& scan, const uint4* planes, int row, int lane) {
  const int quads = static_cast<int>(packed_row_bytes(scan.part.dims) / 16);
  const uint4* from =
      reinterpret_cast<const uint4*>(scan.part.packed_rows) + static_cast<int64_t>(max(row, 0)) * quads;
  int high = 0;
  int low = 0;
  float scale = 0;
  float residual = INFINITY;
  const auto add = [&](uint32_t codes, uint32_t high_plane, uint32_t low_plane) {
    high = __dp4a(static_cast<int>(codes), static_cast<int>(high_plane), high);
    low = __dp4a(static_cast<int>(codes), static_cast<int>(low_plane), low);
  };
  for (int base = lane % kLookupLanes; base < quads && row >= 0; base += kLookupLanes * kQuadLoads) {
    uint4 codes[kQuadLoads];
#pragma unroll
    for (int i = 0; i < kQuadLoads; ++i)
      codes[i] =
          base + kLookupLanes * i < quads ? __ldg(from + base + kLookupLanes * i) : make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < kQuadLoads; ++i) {
      const int quad = base + kLookupLanes * i;
      if (quad >= quads) continue;
      if (quad == quads - 1) {
        scale = __uint_as_float(codes[i].z);
        residual = __uint_as_float(codes[i].w);
        codes[i].z = 0;
        codes[i].w = 0;
      }
      const uint4 front = planes[2 * quad];
      const uint4 back = planes[2 * quad + 1];
      add(codes[i].x, front.x, front.y);
      add(codes[i].y, front.z, front.w);
      add(codes[i].z, back.x, back.y);
      add(codes[i].w, back.z, back.w);
    }
  }
  int sum = high * 128 + low;
#pragma unroll
  for (int offset = 1; offset < kLookupLanes; offset *= 2) sum += __shfl_xor_sync(kFullWarp, sum, offset);
  const int last = (lane & ~(kLookupLanes - 1)) + (quads - 1) % kLookupLanes;
  scale = __shfl_sync(kFullWarp, scale, last);
  residual = __shfl_sync(kFullWarp, residual, last);
  return row_bound(sum, scale, residual, scan.bound);
}

// uppers: [share.rows()], in the order of Share::row. Returns the lane's best row.
__device__ Best scan_share(const CoarseScanParams& coarse, const Share& share, const uint4* planes,
                           uint16_t* uppers, int warp, int lane) {
  const SingleScanParams& scan = coarse.scan;
  const DeviceLevel& level = scan.part.coarse;
  const int groups = (scan.groups + 1) / 2;
  const int64_t tile_quads = static_cast<int64_t>(groups) * kQuadsPerGroup;
  Best best;
  TileMasks masks(scan.part.mask, lane);
  for (int place = warp; place < share.rounds * share.warps; place += share.warps) {
    const int tile = share.tile(scan, place);
    const uint32_t admissible = masks.next(scan, share, place, lane);
    RowBound bound = kNoBound;
    if (tile >= 0 && tile < scan.tiles && admissible != 0) {
      const int row = tile * kRowsPerTile + row_of_lane(lane);
      const float scale = __ldcs(level.scales + row);
      const float residual = masks.has_row(admissible) ? __ldcs(level.residuals + row) : INFINITY;
      const int sum = tile_dot<kCodeLoads, NibbleSums>(
          reinterpret_cast<const uint4*>(level.codes) + tile * tile_quads, planes, groups, lane);
      bound = row_bound(2 * sum - 15 * coarse.code_sum, scale, residual, scan.bound);
      if (bound.estimate > best.estimate) best = {bound.estimate, row};
    }
    uppers[int64_t{place} * kRowsPerTile + lane] = upper_code(bound.upper);
  }
  return best;
}

// Looks up the block's rows whose upper bounds reach the threshold, and writes those that the 8-bit codes do
// not rule out. lists: [2 * kRowsPerPass] in shared memory that is no longer used. Called by all threads of
// the block.
__device__ void refine(const SingleScanParams& scan, const Share& share, const uint4* planes,
                       const float* query, const uint16_t* uppers, float threshold, int* lists, int warp,
                       int lane) {
  __shared__ int survivor_count;
  __shared__ int candidate_count;
  int* survivors = lists;
  int* candidates = lists + kRowsPerPass;
  const uint16_t code = threshold_code(threshold);
  int64_t step = share.rows();  // all rows at once, if their survivors fit
  for (int64_t first = 0; first < share.rows();) {
    __syncthreads();
    if (threadIdx.x == 0) survivor_count = candidate_count = 0;
    __syncthreads();
    const int64_t last = min(share.rows(), first + step);
    collect_candidates(scan, share, uppers, first, last, code, survivors, kRowsPerPass, &survivor_count);
    __syncthreads();
    const int count = survivor_count;
    if (count > kRowsPerPass) {
      step = max(int64_t{kRowsPerPass}, step / 16 * 8);
      continue;
    }
    // A few survivors are spread over as many warps.
    for (int base = 0; base < count; base += kWarpLanes / kLookupLanes * share.warps) {
      const int i = base + lane / kLookupLanes * share.warps + warp;
      const int row = i < count ? survivors[i] : -1;
      const RowBound bound = packed_row_bound(scan, planes, row, lane);
      if (lane % kLookupLanes != 0 || upper_code(bound.upper) < code) continue;
      const int slot = atomicAdd(&candidate_count, 1);
      if (slot < kRowsPerPass) candidates[slot] = row;
    }
    __syncthreads();
    write_candidates(scan, share, query, uppers, candidates, min(candidate_count, kRowsPerPass), warp, lane);
    first = last;
  }
}

__global__ void __launch_bounds__(kThreads, 1)
    coarse_scan_kernel(const __grid_constant__ CoarseScanParams coarse, const int staged_rows) {
  extern __shared__ __align__(128) std::byte shared[];
  __shared__ ThresholdScratch scratch;
  const SingleScanParams& scan = coarse.scan;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  ScanTimes times;
  times.started = global_nanoseconds();

  std::byte* behind_query = shared + shared_query_bytes(scan.part.dims);
  const auto* planes = reinterpret_cast<const uint4*>(shared);
  const auto* query = reinterpret_cast<const float*>(shared + query_floats_offset(scan.part.dims));
  auto* histogram = reinterpret_cast<uint32_t*>(behind_query);
  const Share share(scan.tiles, static_cast<int>(gridDim.x));
  uint16_t* uppers = scan.row_upper != nullptr ? scan.row_upper + share.rows() * blockIdx.x
                                               : reinterpret_cast<uint16_t*>(histogram + kBins);
  start_block(scan, query_bytes(scan.part.dims), shared, histogram);
  const Best best = scan_share(coarse, share, planes, uppers, warp, lane);
  count_seeds(scan, coarse.seeds_per_warp, query, best, lane);
  grid_barrier(&scan.counters->scanned);
  times.scanned = global_nanoseconds();
  load_histogram(histogram, scan.counters->histogram);
  const float threshold = block_threshold(histogram, static_cast<uint32_t>(scan.top_rows), scratch);
  times.selected = global_nanoseconds();
  refine(scan, share, planes, query, uppers, threshold, reinterpret_cast<int*>(histogram), warp, lane);
  if (scan.ranked_ids != nullptr) {
    grid_barrier(&scan.counters->collected);
    rank_candidates(scan, reinterpret_cast<RankedRow*>(behind_query), staged_rows, warp, lane);
  }
  finish(scan, times);
}

}  // namespace

int32_t seeds_per_warp(const ScanShape& shape, int64_t top_rows) {
  const int64_t warps = int64_t{shape.blocks} * kThreads / kWarpLanes;
  if (8 * top_rows <= warps) return 1;
  return static_cast<int32_t>(std::min<int64_t>(kWarpLanes, (2 * top_rows / warps + 4) / 4 * 4));
}

cudaError_t prepare_coarse_scan(const ScanShape& shape) {
  return cudaFuncSetAttribute(coarse_scan_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              shape.shared_limit);
}

cudaError_t launch_coarse_scan(const CoarseScanParams& coarse, const ScanShape& shape, cudaStream_t stream) {
  return launch_for_query(coarse_scan_kernel, coarse, coarse.scan, shape, stream);
}

}  // namespace glove::gpu
