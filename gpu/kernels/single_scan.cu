#include "gpu/kernels/single_scan.h"

#include <algorithm>

#include "gpu/kernels/single_query.cuh"
#include "gpu/primitives/block/grid_barrier.cuh"
#include "gpu/primitives/block/threshold.cuh"

namespace glove::gpu {
namespace {

constexpr int kCodeLoads = 10;             // 16-byte quads of a tile's codes in flight per lane
constexpr int kCandidatesPerPass = kBins;  // candidates that a block refines at a time

// Counts the tile's lower bounds in the block's own histogram. Called by a whole warp.
__device__ void count_tile(const SingleScanParams& scan, uint32_t* histogram, RowBound row, int lane) {
  if (scan.count_every_row != 0) {
    if (row.lower > -INFINITY) atomicAdd(histogram + bin_of(row.lower), 1u);
  } else {
    const float lower = warp_max(row.lower);
    if (lane == 0 && lower > -INFINITY) atomicAdd(histogram + bin_of(lower), 1u);
  }
}

// uppers: [share.rows()], in the order of Share::row. kMasked: the part has a mask; without one, looking for
// it would take 1 us of 35.
template <bool kMasked>
__device__ void scan_share(const SingleScanParams& scan, const Share& share, const uint2* planes,
                           uint32_t* histogram, uint16_t* uppers, int warp, int lane) {
  const int64_t tile_quads = static_cast<int64_t>(scan.groups) * kQuadsPerGroup;
  TileMasks masks(scan.part.mask, lane);
  for (int place = warp; place < share.rounds * share.warps; place += share.warps) {
    const int tile = share.tile(scan, place);
    const uint32_t admissible = kMasked ? masks.next(scan, share, place, lane) : ~0u;
    RowBound bound = kNoBound;
    if (tile >= 0 && tile < scan.tiles && admissible != 0) {
      const int64_t row = static_cast<int64_t>(tile) * kRowsPerTile + row_of_lane(lane);
      const float scale = __ldcs(scan.part.level.scales + row);
      const float residual = masks.has_row(admissible) ? __ldcs(scan.part.level.residuals + row) : INFINITY;
      const int sum = tile_dot<kCodeLoads, TileSums>(
          reinterpret_cast<const uint4*>(scan.part.level.codes) + tile * tile_quads, planes, scan.groups,
          lane);
      bound = row_bound(sum, scale, residual, scan.bound);
      count_tile(scan, histogram, bound, lane);
    }
    uppers[int64_t{place} * kRowsPerTile + lane] = upper_code(bound.upper);
  }
}

// Writes the block's candidates with their exact products or their bounds. candidates:
// [kCandidatesPerPass] in shared memory that is no longer used. Called by all threads of the block.
__device__ void refine(const SingleScanParams& scan, const Share& share, const float* query,
                       const uint16_t* uppers, float threshold, int* candidates, int warp, int lane) {
  __shared__ int candidate_count;
  const uint16_t code = threshold_code(threshold);
  int64_t step = share.rows();  // all rows at once, if their candidates fit
  for (int64_t first = 0; first < share.rows();) {
    __syncthreads();
    if (threadIdx.x == 0) candidate_count = 0;
    __syncthreads();
    const int64_t last = min(share.rows(), first + step);
    collect_candidates(scan, share, uppers, first, last, code, candidates, kCandidatesPerPass,
                       &candidate_count);
    __syncthreads();
    const int count = candidate_count;
    if (count > kCandidatesPerPass) {
      step = kCandidatesPerPass;
      continue;
    }
    write_candidates(scan, share, query, uppers, candidates, count, warp, lane);
    first = last;
  }
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
  start_block(scan, query_bytes(scan.part.dims), shared, histogram);
  if (scan.part.mask.words == nullptr)
    scan_share<false>(scan, share, planes, histogram, uppers, warp, lane);
  else
    scan_share<true>(scan, share, planes, histogram, uppers, warp, lane);
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
  return launch_for_query(single_scan_kernel, scan, scan, shape, stream);
}

}  // namespace glove::gpu
