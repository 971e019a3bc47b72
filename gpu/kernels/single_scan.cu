#include "gpu/kernels/single_scan.h"

#include <algorithm>

#include "gpu/kernels/batch_wgmma.h"
#include "gpu/kernels/single_query.cuh"
#include "gpu/layout/packed_rows.h"
#include "gpu/primitives/block/grid_barrier.cuh"
#include "gpu/primitives/block/threshold.cuh"
#include "gpu/primitives/warp/nibble_dots.cuh"

namespace glove::gpu {
namespace {

constexpr int kCodeLoads = 10;     // 16-byte quads of a tile's codes in flight per lane
constexpr int kQuadLoads = 5;      // 16-byte quads of a packed row in flight per lane
constexpr int kLookupLanes = 4;    // lanes that look up one packed row
constexpr int kStagedRows = 3072;  // rows that a block stages at a time for ranking, if they fit

// What a scan of codes of kBits bits does besides the frame: the sums of a tile, the grid's histogram of
// lower bounds, and which of the rows whose upper bounds reach the threshold are candidates.
template <int kBits>
struct Level;

// Counts the lower bounds of all rows or of the best row of each tile. Every row that reaches the threshold
// is a candidate.
template <>
struct Level<8> {
  using Sums = TileSums;
  static constexpr int kRowsPerPass = kBins;  // that a block refines at a time

  __device__ static const DeviceLevel& codes(const DevicePart& part) { return part.level; }
  __device__ static int words(const SingleScanParams& scan) { return scan.groups; }
  __device__ static int sum_of(const SingleScanParams&, int sum) { return sum; }

  // Called by a whole warp for each of its tiles.
  __device__ void see(const QueryBlock& block, const RowBound& bound, int) {
    if (block.scan.count_every_row != 0) {
      if (bound.lower > -INFINITY) atomicAdd(block.histogram + bin_of(bound.lower), 1u);
    } else {
      const float lower = warp_max(bound.lower);
      if (block.lane == 0 && lower > -INFINITY) atomicAdd(block.histogram + bin_of(lower), 1u);
    }
  }
  // Called by all threads after their last tile.
  __device__ void count(const QueryBlock& block) const {
    add_histogram(block.scan.counters->histogram, block.histogram);
  }
  __device__ static int keep_candidates(const QueryBlock&, int*&, int count, uint16_t) { return count; }
};

// Counts the exact similarities of promising rows, which are lower bounds, and looks up the packed rows of
// those that reach the threshold.
template <>
struct Level<4> {
  using Sums = NibbleSums;
  static constexpr int kRowsPerPass = kBins / 2;  // as many survivors and candidates fit

  // The best row that the lane has seen; -1 if there is none.
  float estimate = -INFINITY;
  int row = -1;

  __device__ static const DeviceLevel& codes(const DevicePart& part) { return part.coarse; }
  __device__ static int words(const SingleScanParams& scan) { return (scan.groups + 1) / 2; }
  __device__ static int sum_of(const SingleScanParams& scan, int sum) { return 2 * sum - 15 * scan.code_sum; }

  __device__ void see(const QueryBlock&, const RowBound& bound, int seen) {
    if (!(bound.estimate > estimate)) return;
    estimate = bound.estimate;
    row = seen;
  }

  // Counts the best of the warp's lanes.
  __device__ void count(const QueryBlock& block) {
    const int seeds = block.scan.seeds_per_warp;
    for (int first = 0; first < seeds; first += 4) {
      int own = -1;
      for (int team = 0; team < min(4, seeds - first); ++team) {
        const float top = warp_max(estimate);
        const int winner = __ffs(static_cast<int>(__ballot_sync(kFullWarp, estimate == top))) - 1;
        const int seed = __shfl_sync(kFullWarp, row, winner);
        if (block.lane == winner) *this = {};
        if (block.lane >> 3 == team) own = seed;
      }
      const double similarity = team_similarity(block, own);
      if ((block.lane & 7) == 0 && similarity > kNoSimilarity)
        atomicAdd(block.scan.counters->histogram + bin_of(__double2float_rd(similarity)), 1u);
    }
  }

  // Returns how many rows the 8-bit codes do not rule out either, and moves `rows` behind the survivors, to
  // where these rows are. Called by all threads.
  __device__ static int keep_candidates(const QueryBlock& block, int*& rows, int count, uint16_t code) {
    __shared__ int candidate_count;
    const int* const survivors = rows;
    rows += kRowsPerPass;
    if (threadIdx.x == 0) candidate_count = 0;
    __syncthreads();
    // A few survivors are spread over as many warps.
    for (int base = 0; base < count; base += kWarpLanes / kLookupLanes * block.share.warps) {
      const int i = base + block.lane / kLookupLanes * block.share.warps + block.warp;
      const int survivor = i < count ? survivors[i] : -1;
      const RowBound bound = packed_row_bound(block, survivor);
      if (block.lane % kLookupLanes != 0 || upper_code(bound.upper) < code) continue;
      const int slot = atomicAdd(&candidate_count, 1);
      if (slot < kRowsPerPass) rows[slot] = survivor;
    }
    __syncthreads();
    return min(candidate_count, kRowsPerPass);
  }

  // Returns the bound that the packed row of a team of four lanes implies, in all lanes of the team; a team
  // without a row passes row < 0 and gets kNoBound. Called by whole warps.
  __device__ static RowBound packed_row_bound(const QueryBlock& block, int row) {
    const SingleScanParams& scan = block.scan;
    const int lane = block.lane;
    const auto* const planes = reinterpret_cast<const uint4*>(block.planes);
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
};

// Bounds the rows of the block's tiles. kShifted: the codes are shifted. kMasked: the part may have a mask;
// without one, looking for it would take the scan of 8 bits 1 us of 35.
template <int kBits, bool kShifted, bool kMasked>
__device__ void scan_share(const QueryBlock& block, Level<kBits>& level) {
  using Sums = typename Level<kBits>::Sums;
  const SingleScanParams& scan = block.scan;
  const DeviceLevel& codes = level.codes(scan.part);
  const auto* const planes = reinterpret_cast<const typename Sums::Planes*>(block.planes);
  const int words = level.words(scan);
  const int64_t tile_quads = static_cast<int64_t>(words) * kQuadsPerGroup;
  TileMasks masks(scan.part.mask, block.lane);
  for (int place = block.warp; place < block.share.rounds * block.share.warps; place += block.share.warps) {
    const int tile = block.share.tile(scan, place);
    const uint32_t admissible = kMasked ? masks.next(scan, block.share, place, block.lane) : ~0u;
    RowBound bound = kNoBound;
    if (tile >= 0 && tile < scan.tiles && admissible != 0) {
      const int row = tile * kRowsPerTile + row_of_lane(block.lane);
      const float scale = __ldcs(codes.scales + row);
      const float residual = masks.has_row(admissible) ? __ldcs(codes.residuals + row) : INFINITY;
      const int sum = tile_dot<kCodeLoads, Sums>(
          reinterpret_cast<const uint4*>(codes.codes) + tile * tile_quads, planes, words, block.lane);
      if constexpr (!kShifted) {
        bound = row_bound(level.sum_of(scan, sum), scale, residual, scan.bound);
      } else if (residual != INFINITY) {
        const ShiftedBounds shifted =
            shifted_bounds(scan.bound, scan.shift, static_cast<float>(sum), scale, residual,
                           __ldcs(codes.along + row), __ldcs(codes.lengths + row));
        bound = {0, shifted.lower, shifted.upper};
      }
      level.see(block, bound, row);
    }
    block.uppers[int64_t{place} * kRowsPerTile + block.lane] = upper_code(bound.upper);
  }
}

// Writes the block's candidates with their exact products or their bounds. rows: 2 * kRowsPerPass in shared
// memory that is no longer used. Called by all threads of the block.
template <int kBits>
__device__ void refine(const QueryBlock& block, float threshold, int* rows) {
  constexpr int kRowsPerPass = Level<kBits>::kRowsPerPass;
  __shared__ int found;
  const uint16_t code = threshold_code(threshold);
  int64_t step = block.share.rows();  // all rows at once, if those found fit
  for (int64_t first = 0; first < block.share.rows();) {
    __syncthreads();
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    const int64_t last = min(block.share.rows(), first + step);
    collect_candidates(block, first, last, code, rows, kRowsPerPass, &found);
    __syncthreads();
    const int count = found;
    if (count > kRowsPerPass) {
      step = max(int64_t{kRowsPerPass}, step / 16 * 8);
      continue;
    }
    int* candidates = rows;
    const int kept = Level<kBits>::keep_candidates(block, candidates, count, code);
    write_candidates(block, candidates, kept);
    first = last;
  }
}

template <int kBits, bool kShifted = false>
__global__ void __launch_bounds__(kThreads, 1)
    single_scan_kernel(const __grid_constant__ SingleScanParams scan, const int staged_rows) {
  extern __shared__ __align__(128) std::byte shared[];
  __shared__ ThresholdScratch scratch;
  ScanTimes times;
  times.started = global_nanoseconds();
  const QueryBlock block(scan, shared);
  block.start();
  Level<kBits> level;
  if (kBits == 8 && scan.part.mask.words == nullptr)
    scan_share<kBits, kShifted, false>(block, level);
  else
    scan_share<kBits, kShifted, true>(block, level);
  level.count(block);
  grid_barrier(&scan.counters->scanned);
  times.scanned = global_nanoseconds();
  load_histogram(block.histogram, scan.counters->histogram);
  const float threshold = block_threshold(block.histogram, static_cast<uint32_t>(scan.top_rows), scratch);
  times.selected = global_nanoseconds();
  refine<kBits>(block, threshold, reinterpret_cast<int*>(block.histogram));
  if (scan.answer.ranked_ids != nullptr) {
    grid_barrier(&scan.counters->collected);
    rank_candidates(block, staged_rows);
  }
  finish(scan, times);
}

// What a launch may use of a block's shared memory, less the compiler's own static allocation.
int64_t shared_room(const DeviceShape& shape) {
  return shape.shared_limit - 1024;
}

// The bytes of upper bounds that each block keeps.
int64_t upper_bytes_of_block(const DeviceShape& shape, int64_t tiles) {
  return Share(tiles, shape.multiprocessors).rows() * static_cast<int64_t>(sizeof(uint16_t));
}

// Of the rows with the best estimates, each warp scores so many for a threshold that admits few rows besides
// the best: the more, the likelier are those among them.
int32_t seeds_per_warp(const DeviceShape& shape, int64_t top_rows) {
  const int64_t warps = int64_t{shape.multiprocessors} * kThreads / kWarpLanes;
  if (8 * top_rows <= warps) return 1;
  return static_cast<int32_t>(std::min<int64_t>(kWarpLanes, (2 * top_rows / warps + 4) / 4 * 4));
}

}  // namespace

bool single_scan_fits(int64_t dims, const DeviceShape& shape) {
  return shared_query_bytes(dims) + kBins * 4 <= shared_room(shape);
}

int64_t row_upper_bytes(int64_t dims, int64_t tiles, const DeviceShape& shape) {
  const int64_t bytes = upper_bytes_of_block(shape, tiles);
  return shared_query_bytes(dims) + kBins * 4 + bytes <= shared_room(shape) ? 0
                                                                            : bytes * shape.multiprocessors;
}

cudaError_t device_shape(int device, DeviceShape* shape) {
  cudaError_t error = cudaDeviceGetAttribute(&shape->multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&shape->shared_limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  // The maximum, so that no launch is refused because one for another model needs less.
  for (const auto kernel : {&single_scan_kernel<8>, &single_scan_kernel<4>, &single_scan_kernel<8, true>})
    if (error == cudaSuccess)
      error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shared_room(*shape)));
  if (error == cudaSuccess) shape->wgmma = wgmma_available();
  return error;
}

cudaError_t launch_single_scan(int bits, SingleScanParams& scan, const DeviceShape& shape,
                               cudaStream_t stream) {
  scan.seeds_per_warp = seeds_per_warp(shape, scan.top_rows);
  // Rows that are ranked use the memory of the histogram and the upper bounds afterwards.
  const int64_t query = shared_query_bytes(scan.part.dims);
  const int64_t uppers = scan.row_upper == nullptr ? upper_bytes_of_block(shape, scan.tiles) : 0;
  const int64_t ranking =
      std::min<int64_t>(shared_room(shape) - query, kStagedRows * static_cast<int64_t>(sizeof(RankedRow)));
  const int64_t behind_query = std::max(kBins * 4 + uppers, ranking);
  int staged_rows = static_cast<int>(behind_query / static_cast<int64_t>(sizeof(RankedRow)));
  void* arguments[] = {&scan, &staged_rows};
  const auto kernel = bits == 4                          ? &single_scan_kernel<4>
                      : scan.part.level.along != nullptr ? &single_scan_kernel<8, true>
                                                         : &single_scan_kernel<8>;
  return cudaLaunchCooperativeKernel(kernel, dim3(static_cast<unsigned>(shape.multiprocessors)),
                                     dim3(kThreads), arguments, static_cast<size_t>(query + behind_query),
                                     stream);
}

}  // namespace glove::gpu
