#include "gpu/kernels/single_scan.h"

#include "gpu/block/grid_barrier.cuh"
#include "gpu/block/threshold.cuh"
#include "gpu/warp/bulk_copy.cuh"
#include "gpu/warp/exact_dot.cuh"
#include "gpu/warp/tile_dots.cuh"

namespace glove::cuda {
namespace {

constexpr int kPlainThreads = 256;
constexpr int kPlainLoads = 8;  // in flight a lane, while other warps have theirs
constexpr int kMaxLoads = 20;   // when a warp is alone: one round for 300 dimensions
constexpr int kMaxBulkWarps = 12;
constexpr int kMaxStages = 8;
constexpr int kRowBytes = 128;  // of scales, and of residuals, a tile

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

// Counts the tile's lower bounds and keeps its largest upper bound. Whole warp.
__device__ void record_tile(const SingleScan& scan, int tile, RowBound row, int lane) {
  const float upper = warp_max(row.upper);
  if (scan.count_every_row != 0) {
    if (row.lower > -INFINITY) atomicAdd(&scan.counters->histogram[bin_of(row.lower)], 1u);
  } else {
    const float lower = warp_max(row.lower);
    if (lane == 0 && lower > -INFINITY) atomicAdd(&scan.counters->histogram[bin_of(lower)], 1u);
  }
  if (lane == 0) scan.tile_upper[tile] = upper;
}

// The tiles that one warp scans: its share of the static ones, then what next_tile gives. Lane 0 only.
struct TileSource {
  const SingleScan& scan;
  int next;
  int stride;

  // The next tile in scan order, or -1.
  __device__ int take() {
    int order;
    if (next < scan.static_tiles) {
      order = next;
      next += stride;
    } else {
      order = scan.static_tiles + static_cast<int>(atomicAdd(&scan.counters->next_tile, 1u));
    }
    if (order >= scan.tiles) return -1;
    return scan.reversed != 0 ? scan.tiles - 1 - order : order;
  }
};

// Neighbouring tiles go to different blocks.
__device__ TileSource tile_source(const SingleScan& scan, int warp) {
  const int warps = static_cast<int>(blockDim.x) >> 5;
  return {scan, warp * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x),
          warps * static_cast<int>(gridDim.x)};
}

__device__ void scan_plain(const SingleScan& scan, TileSource& source, const uint2* planes, int lane) {
  const int64_t tile_words = static_cast<int64_t>(scan.groups) * 8;
  int tile = 0;
  while (true) {
    if (lane == 0) tile = source.take();
    tile = __shfl_sync(kFullWarp, tile, 0);
    if (tile < 0) break;
    const int64_t row = static_cast<int64_t>(tile) * 32 + row_of_lane(lane);
    const float scale = __ldcs(scan.scales + row);
    const float residual = __ldcs(scan.residuals + row);
    const int sum = tile_dot_global<kPlainLoads>(
        reinterpret_cast<const uint4*>(scan.codes) + tile * tile_words, planes, scan.groups, lane);
    record_tile(scan, tile, row_bound(sum, scale, residual, scan.bound), lane);
  }
}

#if __CUDA_ARCH__ >= 900
// Each warp has its own ring of stages, so no warp ever waits for another.
struct Ring {
  std::byte* stages;  // [stage_count][stage_bytes] of this warp
  uint64_t* full;     // [stage_count]
  int* tiles;         // [stage_count]: the tile that is there or on its way, -1 for none
  int stage_count;
  int code_bytes;
  uint64_t policy;  // of the cache

  __device__ int stage_bytes() const { return code_bytes + 2 * kRowBytes; }

  // Starts loading `tile` into `stage`. Lane 0 only; nobody reads the stage any more.
  __device__ void load(const SingleScan& scan, int stage, int tile) const {
    tiles[stage] = tile;
    if (tile < 0) return;
    std::byte* to = stages + stage * stage_bytes();
    mbarrier_expect(full + stage, static_cast<uint32_t>(stage_bytes()));
    bulk_copy(to, scan.codes + static_cast<int64_t>(tile) * code_bytes, code_bytes, full + stage, policy);
    bulk_copy(to + code_bytes, scan.scales + static_cast<int64_t>(tile) * 32, kRowBytes, full + stage,
              policy);
    bulk_copy(to + code_bytes + kRowBytes, scan.residuals + static_cast<int64_t>(tile) * 32, kRowBytes,
              full + stage, policy);
  }
};

// The ring of one warp, with its first tiles on their way. ring_memory: per warp, stages * stage_bytes, then
// per warp the barriers and the tile numbers (bulk_shape).
__device__ Ring start_ring(const SingleScan& scan, const ScanShape& shape, std::byte* ring_memory,
                           TileSource& source, int warp, int lane) {
  const int warps = static_cast<int>(blockDim.x) >> 5;
  Ring ring;
  ring.stage_count = shape.stages;
  ring.code_bytes = scan.groups * 128;
  ring.policy = stream_policy();
  ring.stages = ring_memory + warp * shape.stages * ring.stage_bytes();
  std::byte* control = ring_memory + warps * shape.stages * ring.stage_bytes();
  ring.full = reinterpret_cast<uint64_t*>(control) + warp * kMaxStages;
  ring.tiles = reinterpret_cast<int*>(control + warps * kMaxStages * 8) + warp * kMaxStages;
  if (lane == 0) {
    for (int s = 0; s < shape.stages; ++s) mbarrier_init(ring.full + s);
    mbarrier_init_fence();
    for (int s = 0; s < shape.stages; ++s) ring.load(scan, s, source.take());
  }
  return ring;
}

// REQUIRES: a barrier of the block since start_ring and since the query came to shared memory.
__device__ void scan_bulk(const SingleScan& scan, const Ring& ring, TileSource& source, const uint2* planes,
                          int lane) {
  int stage = 0;
  uint32_t parity = 0;
  while (true) {
    __syncwarp();
    const int tile = ring.tiles[stage];
    if (tile < 0) break;
    const int following = lane == 0 ? source.take() : 0;
    mbarrier_wait(ring.full + stage, parity);
    const std::byte* data = ring.stages + stage * ring.stage_bytes();
    const float* rows = reinterpret_cast<const float*>(data + ring.code_bytes);
    const int row = row_of_lane(lane);
    const float scale = rows[row];
    const float residual = rows[32 + row];
    const int sum = tile_dot_shared(reinterpret_cast<const uint4*>(data), planes, scan.groups, lane);
    __syncwarp();
    if (lane == 0) ring.load(scan, stage, following);
    record_tile(scan, tile, row_bound(sum, scale, residual, scan.bound), lane);
    if (++stage == ring.stage_count) {
      stage = 0;
      parity ^= 1u;
    }
  }
}
#endif

// Exact dots of the rows that the lanes of `passed` hold, four rows at a time. first_slot: lane 0's is the
// slot of the first row; it may still be on its way while the dots are computed.
template <bool kBulk>
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
    const double dot = team_exact_dot < kBulk ? 40 : 10 > (query, vector, scan.dims, lane);
    const uint32_t slot = __shfl_sync(kFullWarp, first_slot, 0) + done + static_cast<uint32_t>(team);
    if (rest != 0 && (lane & 7) == 0 && slot < scan.capacity) {
      __stcg(scan.dots + slot, dot);
      __stcg(scan.norms + slot, norm);
    }
    for (int i = 0; i < 4 && passed != 0; ++i) passed &= passed - 1;
  }
}

// Reads a tile again and writes its candidates out. Whole warp.
template <bool kBulk>
__device__ void refine_tile(const SingleScan& scan, const uint2* planes, const float* query, float threshold,
                            int tile, int lane) {
  const int64_t tile_words = static_cast<int64_t>(scan.groups) * 8;
  const int row = tile * 32 + row_of_lane(lane);
  const float scale = __ldg(scan.scales + row);
  const float residual = __ldg(scan.residuals + row);
  const int sum = tile_dot_global < kBulk
                      ? kMaxLoads
                      : kPlainLoads > (reinterpret_cast<const uint4*>(scan.codes) + tile * tile_words, planes,
                                       scan.groups, lane);
  const RowBound bound = row_bound(sum, scale, residual, scan.bound);
  const bool passes = bound.upper > -INFINITY && bound.upper >= threshold;
  const unsigned passed = __ballot_sync(kFullWarp, passes);
  if (passed == 0) return;
  uint32_t first_slot = 0;
  if (lane == 0)
    first_slot = static_cast<uint32_t>(
        atomicAdd(&scan.counters->progress, static_cast<unsigned long long>(__popc(passed))));
  if (scan.vectors != nullptr) rescore<kBulk>(scan, query, passed, row, first_slot, lane);
  const uint32_t slot =
      __shfl_sync(kFullWarp, first_slot, 0) + static_cast<uint32_t>(__popc(passed & ((1u << lane) - 1u)));
  if (passes && slot < scan.capacity) __stcg(scan.ids + slot, row);
}

// Finds the tiles that may hold candidates and refines them. All warps of the grid. Gives whether this warp
// wrote rows.
template <bool kBulk>
__device__ void refine(const SingleScan& scan, const uint2* planes, const float* query, float threshold,
                       int warp, int lane) {
  const int warps = static_cast<int>(blockDim.x) >> 5;
  const int64_t grid_warps = static_cast<int64_t>(warps) * gridDim.x;
  for (int64_t base = (static_cast<int64_t>(warp) * gridDim.x + blockIdx.x) * 32; base < scan.tiles;
       base += grid_warps * 32) {
    const int64_t mine = base + lane;
    const float tile_upper = mine < scan.tiles ? __ldcg(scan.tile_upper + mine) : -INFINITY;
    unsigned hits = __ballot_sync(kFullWarp, tile_upper > -INFINITY && tile_upper >= threshold);
    while (hits != 0) {
      const int tile = static_cast<int>(base) + __ffs(static_cast<int>(hits)) - 1;
      hits &= hits - 1;
      refine_tile<kBulk>(scan, planes, query, threshold, tile, lane);
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

// Brings the query to shared memory and clears the next launch's counters. All threads; ends with a barrier.
__device__ void load_query(const SingleScan& scan, std::byte* shared) {
  const auto* from =
      reinterpret_cast<const uint32_t*>(scan.long_query != nullptr ? scan.long_query : scan.query);
  const int words = static_cast<int>(query_bytes(scan.dims) / 4);
  for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x))
    reinterpret_cast<uint32_t*>(shared)[i] = from[i];
  auto* next_words = reinterpret_cast<uint32_t*>(scan.next_counters);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
       i < static_cast<int>(sizeof(ScanCounters) / 4); i += static_cast<int>(gridDim.x * blockDim.x))
    next_words[i] = 0;
  __syncthreads();
}

template <bool kBulk>
__global__ void __launch_bounds__(kBulk ? kMaxBulkWarps * 32 : kPlainThreads, kBulk ? 1 : 3)
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
  TileSource source = tile_source(scan, warp);
#if __CUDA_ARCH__ >= 900
  if constexpr (kBulk) {
    const Ring ring = start_ring(scan, shape, behind_query, source, warp, lane);
    load_query(scan, shared);
    scan_bulk(scan, ring, source, planes, lane);
  } else
#endif
  {
    load_query(scan, shared);
    scan_plain(scan, source, planes, lane);
  }
  grid_barrier(&scan.counters->arrived);
  times.scanned = global_nanoseconds();
  auto* histogram = reinterpret_cast<uint32_t*>(behind_query);  // where the tiles were
  load_histogram(histogram, scan.counters->histogram);
  const float threshold = block_threshold(histogram, static_cast<uint32_t>(scan.wanted), scratch);
  times.selected = global_nanoseconds();
  refine<kBulk>(scan, planes, query, threshold, warp, lane);
  finish(scan, times);
}

template <bool kBulk>
const void* kernel_address() {
  return reinterpret_cast<const void*>(&single_scan_kernel<kBulk>);
}

int attribute(int device, cudaDeviceAttr name, cudaError_t* error) {
  int value = 0;
  if (*error == cudaSuccess) *error = cudaDeviceGetAttribute(&value, name, device);
  return value;
}

// As many warps with at least two stages each as shared memory holds.
bool bulk_shape(int shared_limit, int64_t dims, int max_warps, ScanShape* shape) {
  constexpr int kControlBytes = kMaxStages * 12;
  const int64_t fixed = (query_bytes(dims) + 127) / 128 * 128;
  const int64_t stage = (dims + 3) / 4 * 128 + 2 * kRowBytes;
  const int64_t room = shared_limit - fixed - 1024;  // what the compiler places itself
  int warps = 0;
  int stages = 0;
  for (int w = max_warps; w >= 3 && stages < 2; --w) {
    warps = w;
    stages = static_cast<int>(room / w > kControlBytes ? (room / w - kControlBytes) / stage : 0);
  }
  if (stages < 2) return false;
  if (stages > kMaxStages) stages = kMaxStages;
  shape->bulk = true;
  shape->threads = warps * 32;
  shape->stages = stages;
  const int64_t rings = warps * (stages * stage + kControlBytes);
  shape->shared_bytes = static_cast<int>(fixed + (rings > kBins * 4 ? rings : kBins * 4));
  return true;
}

}  // namespace

cudaError_t single_scan_shape(int device, int64_t dims, bool bulk, int max_warps, ScanShape* shape) {
  cudaError_t error = cudaSuccess;
  const int major = attribute(device, cudaDevAttrComputeCapabilityMajor, &error);
  const int multiprocessors = attribute(device, cudaDevAttrMultiProcessorCount, &error);
  const int shared_limit = attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin, &error);
  if (error != cudaSuccess) return error;
  *shape = ScanShape{};
  if (!bulk || major < 9 || !bulk_shape(shared_limit, dims, max_warps, shape)) {
    shape->threads = kPlainThreads;
    shape->shared_bytes = static_cast<int>((query_bytes(dims) + 127) / 128 * 128 + kBins * 4);
  }
  const void* kernel = shape->bulk ? kernel_address<true>() : kernel_address<false>();
  // The limit itself, and not this model's need: another model's launch must not be refused later.
  error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_limit - 1024);
  if (error != cudaSuccess) return error;
  int per_multiprocessor = 0;
  error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, shape->threads,
                                                        static_cast<size_t>(shape->shared_bytes));
  if (error != cudaSuccess) return error;
  if (per_multiprocessor == 0) return cudaErrorInvalidConfiguration;
  shape->blocks = multiprocessors * per_multiprocessor;
  return cudaSuccess;
}

cudaError_t single_scan_shape(int device, int64_t dims, ScanShape* shape) {
  return single_scan_shape(device, dims, true, kMaxBulkWarps, shape);
}

cudaError_t launch_single_scan(const SingleScan& scan, const ScanShape& shape, cudaStream_t stream) {
  void* arguments[] = {const_cast<SingleScan*>(&scan), const_cast<ScanShape*>(&shape)};
  const void* kernel = shape.bulk ? kernel_address<true>() : kernel_address<false>();
  return cudaLaunchCooperativeKernel(kernel, dim3(static_cast<unsigned>(shape.blocks)),
                                     dim3(static_cast<unsigned>(shape.threads)), arguments,
                                     static_cast<size_t>(shape.shared_bytes), stream);
}

}  // namespace glove::cuda
