#include "gpu/kernels/single_scan.h"

#include <algorithm>

#include "gpu/block/grid_barrier.cuh"
#include "gpu/block/ranking.cuh"
#include "gpu/block/threshold.cuh"
#include "gpu/warp/exact_dot.cuh"
#include "gpu/warp/tile_dots.cuh"

namespace glove::cuda {
namespace {

constexpr int kThreads = 768;  // one block a multiprocessor
// What a lane has in flight: 16-byte pieces of a tile's codes, and components of a row.
constexpr int kCodeLoads = 10;
constexpr int kRowLoads = 20;
constexpr int kHits = kBins;       // tiles that a block looks through at a time
constexpr int kStagedRows = 3072;  // rows that a block ranks its own against at a time, where they fit

__device__ uint64_t global_nanoseconds() {
  uint64_t time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

// What a row's integer sum says about its similarity.
struct RowBound {
  float lower;
  float upper;
};

// A residual of +infinity marks a zero row or padding: it raises no threshold and is no candidate. Neither is
// a row of a damaged file with NaN here, which no order could place.
__device__ RowBound row_bound(int sum, float scale, float residual, const QueryBound& bound) {
  if (!(residual < INFINITY)) return {-INFINITY, -INFINITY};
  const float estimate = static_cast<float>(sum) * (scale * bound.inverse_scale);
  if (!(fabsf(estimate) < INFINITY)) return {-INFINITY, -INFINITY};
  const float error = residual * bound.slope + bound.offset;
  return {estimate - error, estimate + error};
}

// Counts the tile's lower bounds in the block's own histogram and keeps its largest upper bound. Whole warp.
__device__ void record_tile(const SingleScan& scan, uint32_t* histogram, int tile, RowBound row, int lane) {
  const float upper = warp_max(row.upper);
  if (scan.count_every_row != 0) {
    if (row.lower > -INFINITY) atomicAdd(histogram + bin_of(row.lower), 1u);
  } else {
    const float lower = warp_max(row.lower);
    if (lane == 0 && lower > -INFINITY) atomicAdd(histogram + bin_of(lower), 1u);
  }
  if (lane == 0) scan.tile_upper[tile] = upper;
}

// The tiles that one warp scans, by their place in scan order: neighbours go to different blocks. Dealing the
// last ones out to whoever is free costs more than it evens out, for memory takes 2.6 ns for each atomic
// operation on one address.
struct Share {
  int first;
  int stride;  // warps of the grid

  __device__ explicit Share(int warp)
      : first(warp * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)),
        stride(static_cast<int>(blockDim.x >> 5) * static_cast<int>(gridDim.x)) {}
};

__device__ void scan_share(const SingleScan& scan, const Share& share, const uint2* planes,
                           uint32_t* histogram, int lane) {
  const int64_t tile_words = static_cast<int64_t>(scan.groups) * 8;
  for (int place = share.first; place < scan.tiles; place += share.stride) {
    const int tile = scan.reversed != 0 ? scan.tiles - 1 - place : place;
    const int64_t row = static_cast<int64_t>(tile) * 32 + row_of_lane(lane);
    const float scale = __ldcs(scan.scales + row);
    const float residual = __ldcs(scan.residuals + row);
    const int sum = tile_dot<kCodeLoads>(reinterpret_cast<const uint4*>(scan.codes) + tile * tile_words,
                                         planes, scan.groups, lane);
    record_tile(scan, histogram, tile, row_bound(sum, scale, residual, scan.bound), lane);
  }
}

// Similarities of the rows that the lanes of `passed` hold, four rows at a time. first_slot: lane 0's is the
// slot of the first row; it may still be on its way while the products are computed.
__device__ void rescore(const SingleScan& scan, const float* query, unsigned passed, int row,
                        uint32_t first_slot, int lane) {
  const int team = lane >> 3;
  for (uint32_t done = 0; passed != 0; done += 4) {
    unsigned rest = passed;
    for (int skipped = 0; skipped < team && rest != 0; ++skipped) rest &= rest - 1;
    const int holder = rest != 0 ? __ffs(static_cast<int>(rest)) - 1 : 0;
    const int team_row = __shfl_sync(kFullWarp, row, holder);
    const float* vector = rest != 0 ? scan.vectors + static_cast<int64_t>(team_row) * scan.dims : nullptr;
    const double norm = rest != 0 ? __ldg(scan.norms_squared + team_row) : 0.0;
    const double dot = team_exact_dot<kRowLoads>(query, vector, scan.dims, lane);
    const uint32_t slot = __shfl_sync(kFullWarp, first_slot, 0) + done + static_cast<uint32_t>(team);
    if (rest != 0 && (lane & 7) == 0 && slot < scan.capacity)
      __stcg(scan.similarities + slot, cosine_from_dots(dot, scan.norm_squared, norm));
    for (int i = 0; i < 4 && passed != 0; ++i) passed &= passed - 1;
  }
}

// Reads a tile again and writes its candidates out. Whole warp.
__device__ void refine_tile(const SingleScan& scan, const uint2* planes, const float* query, float threshold,
                            int tile, int lane) {
  const int64_t tile_words = static_cast<int64_t>(scan.groups) * 8;
  const int row = tile * 32 + row_of_lane(lane);
  const float scale = __ldg(scan.scales + row);
  const float residual = __ldg(scan.residuals + row);
  const int sum = tile_dot<kCodeLoads>(reinterpret_cast<const uint4*>(scan.codes) + tile * tile_words, planes,
                                       scan.groups, lane);
  const RowBound bound = row_bound(sum, scale, residual, scan.bound);
  const bool passes = bound.upper > -INFINITY && bound.upper >= threshold;
  const unsigned passed = __ballot_sync(kFullWarp, passes);
  if (passed == 0) return;
  uint32_t first_slot = 0;
  if (lane == 0)
    first_slot = static_cast<uint32_t>(
        atomicAdd(&scan.counters->progress, static_cast<unsigned long long>(__popc(passed))));
  if (scan.vectors != nullptr) rescore(scan, query, passed, row, first_slot, lane);
  const uint32_t slot =
      __shfl_sync(kFullWarp, first_slot, 0) + static_cast<uint32_t>(__popc(passed & ((1u << lane) - 1u)));
  if (passes && slot < scan.capacity) __stcg(scan.ids + slot, row);
}

// Finds the tiles that may hold candidates and refines them; they lie anywhere, so a block's warps share
// them. All blocks of the grid. hits: kHits integers of shared memory, which nobody uses any more.
__device__ void refine(const SingleScan& scan, const uint2* planes, const float* query, float threshold,
                       int* hits, int warp, int lane) {
  __shared__ int hit_count;
  const int warps = static_cast<int>(blockDim.x) >> 5;
  const int groups = (scan.tiles + 31) / 32;  // of tiles
  const int grid = static_cast<int>(gridDim.x);
  for (int first = static_cast<int>(blockIdx.x); first < groups; first += kHits / 32 * grid) {
    if (threadIdx.x == 0) hit_count = 0;
    __syncthreads();
    const int last = min(groups, first + kHits / 32 * grid);
    for (int group = first + warp * grid; group < last; group += warps * grid) {
      const int tile = group * 32 + lane;
      const float tile_upper = tile < scan.tiles ? __ldcg(scan.tile_upper + tile) : -INFINITY;
      const bool hit = tile_upper > -INFINITY && tile_upper >= threshold;
      if (hit) hits[atomicAdd(&hit_count, 1)] = tile;
    }
    __syncthreads();
    for (int i = warp; i < hit_count; i += warps) refine_tile(scan, planes, query, threshold, hits[i], lane);
    __syncthreads();
  }
}

// Writes the best candidates in order. All blocks of the grid, when each has written its own to device
// memory. A warp ranks one candidate at a time by counting those that come before it. staged: shared memory
// for `staged_rows`, which nobody uses any more.
__device__ void rank_candidates(const SingleScan& scan, RankedRow* staged, int staged_rows, int warp,
                                int lane) {
  const auto count = static_cast<uint32_t>(__ldcg(&scan.counters->progress));
  if (count > scan.capacity) return;
  const uint32_t warps = blockDim.x >> 5;
  const uint32_t grid_warps = gridDim.x * warps;
  // Rounds for all warps alike, for they share the staging memory.
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
    if (lane == 0 && mine < count && before < static_cast<uint32_t>(scan.wanted)) {
      __stcg(scan.ranked_similarities + before, __ldcg(scan.similarities + mine));
      __stcg(scan.ranked_ids + before, own.id);
    }
  }
}

struct Times {
  uint64_t started, scanned, selected;
};

__device__ uint64_t in_time_units(uint64_t nanoseconds) {
  return min(nanoseconds / kTimeUnit, uint64_t{0xffff});
}

// The last block to come here tells the host.
__device__ void finish(const SingleScan& scan, const Times& times) {
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

// Brings the query to shared memory and clears the block's histogram and the next launch's counters. All
// threads; ends with a barrier.
__device__ void start_block(const SingleScan& scan, std::byte* shared, uint32_t* histogram) {
  const auto* from =
      reinterpret_cast<const uint32_t*>(scan.long_query != nullptr ? scan.long_query : scan.query);
  const int words = static_cast<int>(query_bytes(scan.dims) / 4);
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
    single_scan_kernel(const __grid_constant__ SingleScan scan, const __grid_constant__ ScanShape shape) {
  extern __shared__ __align__(128) std::byte shared[];
  __shared__ ThresholdScratch scratch;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  Times times;
  times.started = global_nanoseconds();

  std::byte* behind_query = shared + (query_bytes(scan.dims) + 127) / 128 * 128;
  const auto* planes = reinterpret_cast<const uint2*>(shared);
  const auto* query = reinterpret_cast<const float*>(shared + query_floats_offset(scan.dims));
  auto* histogram = reinterpret_cast<uint32_t*>(behind_query);
  const Share share(warp);
  start_block(scan, shared, histogram);
  scan_share(scan, share, planes, histogram, lane);
  add_histogram(scan.counters->histogram, histogram);
  grid_barrier(&scan.counters->scanned);
  times.scanned = global_nanoseconds();
  load_histogram(histogram, scan.counters->histogram);
  const float threshold = block_threshold(histogram, static_cast<uint32_t>(scan.wanted), scratch);
  times.selected = global_nanoseconds();
  refine(scan, planes, query, threshold, reinterpret_cast<int*>(behind_query), warp, lane);
  if (scan.ranked_ids != nullptr) {
    grid_barrier(&scan.counters->collected);
    rank_candidates(scan, reinterpret_cast<RankedRow*>(behind_query), shape.staged_rows, warp, lane);
  }
  finish(scan, times);
}

int attribute(int device, cudaDeviceAttr name, cudaError_t* error) {
  int value = 0;
  if (*error == cudaSuccess) *error = cudaDeviceGetAttribute(&value, name, device);
  return value;
}

}  // namespace

cudaError_t single_scan_shape(int device, int64_t dims, ScanShape* shape) {
  cudaError_t error = cudaSuccess;
  const int multiprocessors = attribute(device, cudaDevAttrMultiProcessorCount, &error);
  const int shared_limit = attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin, &error);
  if (error != cudaSuccess) return error;
  *shape = ScanShape{};
  const int64_t query = (query_bytes(dims) + 127) / 128 * 128;
  const int64_t room = shared_limit - 1024 - query;  // but for what the compiler places itself
  const int64_t scratch =
      std::max<int64_t>(kBins * 4, std::min<int64_t>(room, kStagedRows * sizeof(RankedRow)));
  shape->staged_rows = static_cast<int>(scratch / static_cast<int64_t>(sizeof(RankedRow)));
  shape->shared_bytes = static_cast<int>(query + scratch);
  // The limit itself, and not this model's need: another model's launch must not be refused later.
  error = cudaFuncSetAttribute(single_scan_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               shared_limit - 1024);
  if (error != cudaSuccess) return error;
  int per_multiprocessor = 0;
  error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, single_scan_kernel, kThreads,
                                                        static_cast<size_t>(shape->shared_bytes));
  if (error != cudaSuccess) return error;
  if (per_multiprocessor == 0) return cudaErrorInvalidConfiguration;
  shape->blocks = multiprocessors * per_multiprocessor;
  return cudaSuccess;
}

cudaError_t launch_single_scan(const SingleScan& scan, const ScanShape& shape, cudaStream_t stream) {
  void* arguments[] = {const_cast<SingleScan*>(&scan), const_cast<ScanShape*>(&shape)};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&single_scan_kernel),
                                     dim3(static_cast<unsigned>(shape.blocks)), dim3(kThreads), arguments,
                                     static_cast<size_t>(shape.shared_bytes), stream);
}

}  // namespace glove::cuda
