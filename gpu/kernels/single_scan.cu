#include "gpu/kernels/single_scan.h"

#include <algorithm>

#include "gpu/block/grid_barrier.cuh"
#include "gpu/block/ranking.cuh"
#include "gpu/block/threshold.cuh"
#include "gpu/tile.h"
#include "gpu/warp/exact_dot.cuh"
#include "gpu/warp/tile_dots.cuh"

namespace glove::gpu {
namespace {

constexpr int kThreads = 768;  // one block per multiprocessor
// Loads in flight per lane: 16-byte quads of a tile's codes, and components of a row.
constexpr int kCodeLoads = 10;
constexpr int kRowLoads = 20;
constexpr int kCandidatesPerPass = kBins;  // candidates that a block refines at a time
constexpr int kStagedRows = 3072;          // rows that a block stages at a time for ranking, if they fit

__device__ uint64_t global_nanoseconds() {
  uint64_t time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

// Bytes of shared memory for the query.
__host__ __device__ int64_t shared_query_bytes(int64_t dims) {
  return (query_bytes(dims) + 127) / 128 * 128;
}

// The bounds of a row's similarity that its integer sum implies.
struct RowBound {
  float lower;
  float upper;
};

// A residual of +infinity marks a zero or padding row: it raises no threshold and is never a candidate. The
// same applies to a row of a damaged file with NaN here, which cannot be ordered.
__device__ RowBound row_bound(int sum, float scale, float residual, const QueryBound& bound) {
  if (!(residual < INFINITY)) return {-INFINITY, -INFINITY};
  const float estimate = bound.estimate(static_cast<float>(sum), scale);
  if (!(fabsf(estimate) < INFINITY)) return {-INFINITY, -INFINITY};
  const float error = bound.error(residual);
  return {estimate - error, estimate + error};
}

// Counts the tile's lower bounds in the block's own histogram. Called by a whole warp.
__device__ void count_tile(const SingleScanParams& scan, uint32_t* histogram, RowBound row, int lane) {
  if (scan.count_every_row != 0) {
    if (row.lower > -INFINITY) atomicAdd(histogram + bin_of(row.lower), 1u);
  } else {
    const float lower = warp_max(row.lower);
    if (lane == 0 && lower > -INFINITY) atomicAdd(histogram + bin_of(lower), 1u);
  }
}

// The tiles that a block scans, warp by warp in rounds. Neighbours in scan order go to different blocks.
// Assigning the last tiles dynamically costs more than it evens out, because each atomic operation on the
// same address takes 2.6 ns.
struct Share {
  int warps;
  int rounds;

  __host__ __device__ Share(int64_t tiles, int blocks)
      : warps(kThreads / kWarpLanes),
        rounds(static_cast<int>((tiles + blocks * warps - 1) / (blocks * warps))) {}

  __host__ __device__ int64_t rows() const { return int64_t{rounds} * warps * kRowsPerTile; }

  // Returns the tile at a place in the block's share; past the end it is not in 0 .. tiles - 1.
  __device__ int tile(const SingleScanParams& scan, int place) const {
    const int in_order = place * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
    return scan.reversed != 0 ? scan.tiles - 1 - in_order : in_order;
  }

  // Returns the row that a lane holds after a tile's products. `index`: kRowsPerTile places per tile, in lane
  // order.
  __device__ int row(const SingleScanParams& scan, int index) const {
    static_assert(kRowsPerTile == 1 << 5);
    return tile(scan, index >> 5) * kRowsPerTile + row_of_lane(index & 31);
  }
};

// uppers: [share.rows()], in the order of Share::row.
__device__ void scan_share(const SingleScanParams& scan, const Share& share, const uint2* planes,
                           uint32_t* histogram, uint16_t* uppers, int warp, int lane) {
  const int64_t tile_quads = static_cast<int64_t>(scan.groups) * kQuadsPerGroup;
  for (int place = warp; place < share.rounds * share.warps; place += share.warps) {
    const int tile = share.tile(scan, place);
    RowBound bound = {-INFINITY, -INFINITY};
    if (tile >= 0 && tile < scan.tiles) {
      const int64_t row = static_cast<int64_t>(tile) * kRowsPerTile + row_of_lane(lane);
      const float scale = __ldcs(scan.part.level.scales + row);
      const float residual = __ldcs(scan.part.level.residuals + row);
      const int sum =
          tile_dot<kCodeLoads>(reinterpret_cast<const uint4*>(scan.part.level.codes) + tile * tile_quads,
                               planes, scan.groups, lane);
      bound = row_bound(sum, scale, residual, scan.bound);
      count_tile(scan, histogram, bound, lane);
    }
    uppers[int64_t{place} * kRowsPerTile + lane] = upper_code(bound.upper);
  }
}

// Appends those of the rows first .. last - 1 whose code reaches the threshold's code to `candidates`, while
// there is room, and counts them all. Called by all threads of the block, between barriers.
__device__ void collect_candidates(const uint16_t* uppers, int64_t first, int64_t last, uint16_t code,
                                   int* candidates, int* candidate_count) {
  for (int64_t i = first + 8 * threadIdx.x; i < last; i += 8 * kThreads) {
    const uint4 eight = *reinterpret_cast<const uint4*>(uppers + i);
    const uint32_t pairs[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if ((pairs[j / 2] >> (16 * (j % 2)) & 0xffffu) < code) continue;
      const int slot = atomicAdd(candidate_count, 1);
      if (slot < kCandidatesPerPass) candidates[slot] = static_cast<int>(i) + j;
    }
  }
}

// Writes the block's candidates with their exact products, using eight lanes per row. candidates:
// [kCandidatesPerPass] in shared memory that is no longer used. Called by all threads of the block.
__device__ void refine(const SingleScanParams& scan, const Share& share, const float* query,
                       const uint16_t* uppers, float threshold, int* candidates, int warp, int lane) {
  __shared__ int candidate_count;
  __shared__ uint32_t first_slot;
  const uint16_t code = threshold_code(threshold);
  int64_t step = share.rows();  // all rows at once, if their candidates fit
  for (int64_t first = 0; first < share.rows();) {
    __syncthreads();
    if (threadIdx.x == 0) candidate_count = 0;
    __syncthreads();
    const int64_t last = min(share.rows(), first + step);
    collect_candidates(uppers, first, last, code, candidates, &candidate_count);
    __syncthreads();
    const int count = candidate_count;
    if (count > kCandidatesPerPass) {
      step = kCandidatesPerPass;
      continue;
    }
    if (threadIdx.x == 0 && count > 0)
      first_slot =
          static_cast<uint32_t>(atomicAdd(&scan.counters->progress, static_cast<unsigned long long>(count)));
    // A few candidates are spread over as many warps.
    for (int base = 0; base < count; base += 4 * share.warps) {
      const int i = base + (lane >> 3) * share.warps + warp;
      const int row = i < count ? share.row(scan, candidates[i]) : -1;
      double similarity = 0.0;
      if (scan.part.vectors != nullptr) {
        const double norm = row >= 0 ? __ldg(scan.part.norms_squared + row) : 0.0;
        const double dot = team_exact_dot<kRowLoads>(
            query, row >= 0 ? scan.part.vectors + static_cast<int64_t>(row) * scan.part.dims : nullptr,
            scan.part.dims, lane);
        similarity = cosine_from_dots(dot, scan.norm_squared, norm);
      }
      if (base == 0) __syncthreads();  // first_slot was fetched while the products were computed
      const uint32_t slot = first_slot + static_cast<uint32_t>(i);
      if (row < 0 || (lane & 7) != 0 || slot >= scan.capacity) continue;
      if (scan.part.vectors != nullptr) __stcg(scan.similarities + slot, similarity);
      __stcg(scan.ids + slot, row);
    }
    first = last;
  }
}

// Writes the best candidates in order. Called by all blocks of the grid, after each has written its own
// candidates to device memory. Each warp ranks one candidate at a time by counting those that come before it.
// staged: shared memory for `staged_rows` rows that is no longer used.
__device__ void rank_candidates(const SingleScanParams& scan, RankedRow* staged, int staged_rows, int warp,
                                int lane) {
  __shared__ uint32_t candidates;
  // Blocks that are ahead add to the upper half meanwhile (finish), so one thread reads it in a strong
  // access.
  if (threadIdx.x == 0)
    candidates = static_cast<uint32_t>(*static_cast<volatile unsigned long long*>(&scan.counters->progress));
  __syncthreads();
  const uint32_t count = candidates;
  if (count > scan.capacity) return;
  const uint32_t warps = blockDim.x >> 5;
  const uint32_t grid_warps = gridDim.x * warps;
  // All warps take the same number of rounds, because they share the staging memory.
  for (uint32_t base = 0; base < count; base += grid_warps) {
    const uint32_t mine = base + static_cast<uint32_t>(warp) * gridDim.x + blockIdx.x;
    const RankedRow own = mine < count ? ranked_row(scan.similarities, scan.ids, mine) : RankedRow{};
    uint32_t before = 0;
    for (uint32_t first = 0; first < count; first += static_cast<uint32_t>(staged_rows)) {
      const uint32_t rows = min(count - first, static_cast<uint32_t>(staged_rows));
      if (base == 0 || count > static_cast<uint32_t>(staged_rows)) {
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < rows; i += blockDim.x)
          staged[i] = ranked_row(scan.similarities, scan.ids, first + i);
        __syncthreads();
      }
      if (mine >= count) continue;
      for (uint32_t i = static_cast<uint32_t>(lane); i < rows; i += 32)
        before += staged[i].ranks_before(own) ? 1 : 0;
    }
    before = warp_sum(before);
    if (lane == 0 && mine < count && before < static_cast<uint32_t>(scan.top_rows)) {
      __stcg(scan.ranked_similarities + before, __ldcg(scan.similarities + mine));
      __stcg(scan.ranked_ids + before, own.id);
    }
  }
}

struct ScanTimes {
  uint64_t started, scanned, selected;
};

__device__ uint64_t in_time_units(uint64_t nanoseconds) {
  return min(nanoseconds / kTimeUnit, uint64_t{0xffff});
}

// The last block to arrive notifies the host.
__device__ void finish(const SingleScanParams& scan, const ScanTimes& times) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  const unsigned long long progress = atomicAdd(&scan.counters->progress, 1ull << 32);
  if ((progress >> 32) + 1 != gridDim.x) return;
  const uint64_t sequence = static_cast<uint64_t>(scan.sequence) << 32;
  volatile ScanDone* done = scan.done;
  done->scan_ns = times.scanned - times.started;
  done->times = sequence | in_time_units(times.selected - times.scanned) << 16 |
                in_time_units(global_nanoseconds() - times.selected);
  done->candidates = sequence | (progress & 0xffffffffu);
}

// Copies the query to shared memory and clears the block's histogram and the next launch's counters. Called
// by all threads; ends with a barrier.
__device__ void start_block(const SingleScanParams& scan, std::byte* shared, uint32_t* histogram) {
  const auto* from =
      reinterpret_cast<const uint32_t*>(scan.long_query != nullptr ? scan.long_query : scan.query);
  const int words = static_cast<int>(query_bytes(scan.part.dims) / 4);
  for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x))
    reinterpret_cast<uint32_t*>(shared)[i] = from[i];
  for (int i = static_cast<int>(threadIdx.x); i < kBins; i += static_cast<int>(blockDim.x)) histogram[i] = 0;
  auto* next_words = reinterpret_cast<uint32_t*>(scan.next_counters);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
       i < static_cast<int>(sizeof(ScanCounters) / 4); i += static_cast<int>(gridDim.x * blockDim.x))
    next_words[i] = 0;
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads, 1)
    single_scan_kernel(const __grid_constant__ SingleScanParams scan, const int staged_rows) {
  extern __shared__ __align__(128) std::byte shared[];
  __shared__ ThresholdScratch scratch;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  ScanTimes times;
  times.started = global_nanoseconds();

  std::byte* behind_query = shared + shared_query_bytes(scan.part.dims);
  const auto* planes = reinterpret_cast<const uint2*>(shared);
  const auto* query = reinterpret_cast<const float*>(shared + query_floats_offset(scan.part.dims));
  auto* histogram = reinterpret_cast<uint32_t*>(behind_query);
  const Share share(scan.tiles, static_cast<int>(gridDim.x));
  uint16_t* uppers = scan.row_upper != nullptr ? scan.row_upper + share.rows() * blockIdx.x
                                               : reinterpret_cast<uint16_t*>(histogram + kBins);
  start_block(scan, shared, histogram);
  scan_share(scan, share, planes, histogram, uppers, warp, lane);
  add_histogram(scan.counters->histogram, histogram);
  grid_barrier(&scan.counters->scanned);
  times.scanned = global_nanoseconds();
  load_histogram(histogram, scan.counters->histogram);
  const float threshold = block_threshold(histogram, static_cast<uint32_t>(scan.top_rows), scratch);
  times.selected = global_nanoseconds();
  refine(scan, share, query, uppers, threshold, reinterpret_cast<int*>(histogram), warp, lane);
  if (scan.ranked_ids != nullptr) {
    grid_barrier(&scan.counters->collected);
    rank_candidates(scan, reinterpret_cast<RankedRow*>(behind_query), staged_rows, warp, lane);
  }
  finish(scan, times);
}

int attribute(int device, cudaDeviceAttr name, cudaError_t* error) {
  int value = 0;
  if (*error == cudaSuccess) *error = cudaDeviceGetAttribute(&value, name, device);
  return value;
}

int64_t upper_bytes_of_block(const ScanShape& shape, int64_t tiles) {
  return Share(tiles, shape.blocks).rows() * static_cast<int64_t>(sizeof(uint16_t));
}

}  // namespace

int64_t row_upper_bytes(const ScanShape& shape, int64_t tiles) {
  const int64_t bytes = upper_bytes_of_block(shape, tiles);
  return shape.query_bytes + kBins * 4 + bytes <= shape.shared_limit ? 0 : bytes * shape.blocks;
}

cudaError_t single_scan_shape(int device, int64_t dims, ScanShape* shape) {
  cudaError_t error = cudaSuccess;
  *shape = ScanShape{};
  shape->blocks = attribute(device, cudaDevAttrMultiProcessorCount, &error);  // one per multiprocessor
  const int shared_limit = attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin, &error);
  if (error != cudaSuccess) return error;
  shape->shared_limit = shared_limit - 1024;  // less the compiler's own static allocation
  shape->query_bytes = static_cast<int>(std::min<int64_t>(shared_query_bytes(dims), shared_limit));
  // The maximum, and not only what this model needs, so that a launch for another model is not refused later.
  error = cudaFuncSetAttribute(single_scan_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               shape->shared_limit);
  if (error != cudaSuccess) return error;
  return shape->query_bytes + kBins * 4 <= shape->shared_limit ? cudaSuccess : cudaErrorInvalidConfiguration;
}

cudaError_t launch_single_scan(const SingleScanParams& scan, const ScanShape& shape, cudaStream_t stream) {
  const int64_t uppers = scan.row_upper == nullptr ? upper_bytes_of_block(shape, scan.tiles) : 0;
  const int64_t scanning = kBins * 4 + uppers;
  const int64_t ranking = std::min<int64_t>(shape.shared_limit - shape.query_bytes,
                                            kStagedRows * static_cast<int64_t>(sizeof(RankedRow)));
  const int64_t behind_query = std::max(scanning, ranking);
  int staged_rows = static_cast<int>(behind_query / static_cast<int64_t>(sizeof(RankedRow)));
  void* arguments[] = {const_cast<SingleScanParams*>(&scan), &staged_rows};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&single_scan_kernel),
                                     dim3(static_cast<unsigned>(shape.blocks)), dim3(kThreads), arguments,
                                     static_cast<size_t>(shape.query_bytes + behind_query), stream);
}

}  // namespace glove::gpu
