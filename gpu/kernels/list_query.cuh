// What the scans of plane one and of signs share: the products of centroids, and the kernel around the scan.
#pragma once

#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

#include "gpu/kernels/coarse_query.cuh"
#include "gpu/kernels/plane_scan.h"
#include "gpu/layout/query_codes.h"
#include "gpu/primitives/block/grid_barrier.cuh"
#include "gpu/primitives/block/threshold.cuh"
#include "lists/planes.h"

namespace glove::gpu {

// Rows that a block looks up at a time, and writes at a time.
constexpr int kMostSurvivors = kBins / 4 * 3;
constexpr int kMostCandidates = kBins / 4;
constexpr int kFewSurvivors = 32;  // of a block
constexpr int kTilesAtOnce = 2;    // of a warp
constexpr int kLineWords = 32;     // of a cache line
constexpr int kLinesAhead = 1024;  // of a block
constexpr int kVectorsAtOnce = 4;  // of a warp
constexpr int kVectorLoads = 8;    // components of each in flight per lane
constexpr float kProductError =
    (1 + kVectorLoads + (kMaxPlaneDims / kWarpLanes / kVectorLoads + 1) + 5) * 0x1p-24f;
// The lower bounds of seeds are below the products by this, which has room for their other roundings.
constexpr float kSeedError = 4 * kProductError;

// The bytes of shared memory for the query, its codes and its unit vector.
__host__ __device__ constexpr int64_t list_query_bytes(int64_t dims, int64_t code_bytes) {
  return (query_bytes(dims) + code_bytes + dims * 4 + 127) / 128 * 128;
}

// Has the line of memory at a device address copied to L2; nothing waits for it.
__device__ inline void fetch_line(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

// Has the codes of the block's first tiles fetched while other things are computed. Called by all threads.
__device__ inline void fetch_ahead(const SingleScanParams& scan, const Share& share, const uint32_t* words,
                                   int tile_words) {
  const int lines = tile_words / kLineWords;
  const int places = min(kLinesAhead / lines, share.rounds * share.warps);
  for (int i = static_cast<int>(threadIdx.x); i < places * lines; i += kThreads) {
    const int tile = share.tile(scan, i / lines);
    if (tile < 0 || tile >= scan.tiles) continue;
    fetch_line(words + (int64_t{tile} * lines + i % lines) * kLineWords);
  }
}

// Computes the planes of pack_planes() of the query's codes, bit for bit those of quantize_query(). Called by
// all threads of the block.
//   planes  [query_floats_offset(dims)] in shared memory, zeros at the end
__device__ inline void encode_query(const PlaneScanParams& params, const float* query, int8_t* planes) {
  const int dims = params.coarse.scan.part.dims;
  const auto places = static_cast<int>(query_floats_offset(dims) / 2);
#pragma unroll 1
  for (int j = static_cast<int>(threadIdx.x); j < places; j += kThreads) {
    const double unit = j < dims ? __dmul_rn(query[j], params.inverse_norm) : 0;
    const int code = min(max(__double2int_rn(__dmul_rn(params.scale, unit)), -kTwoPlaneCode), kTwoPlaneCode);
    const int high = (code + 64) >> 7;
    planes[j / 4 * 8 + j % 4] = static_cast<int8_t>(high);
    planes[j / 4 * 8 + 4 + j % 4] = static_cast<int8_t>(code - high * 128);
  }
}

// Puts the query's unit vector into shared memory. Called by all threads of the block.
__device__ inline void normalize(const PlaneScanParams& params, const float* query, float* unit) {
  for (int i = static_cast<int>(threadIdx.x); i < params.coarse.scan.part.dims; i += kThreads)
    unit[i] = static_cast<float>(static_cast<double>(query[i]) * params.inverse_norm);
  __syncthreads();
}

// Computes the products of some vectors and the query's unit vector, in all lanes. They are off by at most
// kProductError of a vector's length: a lane adds up sums of kVectorLoads products, and `unit` is rounded.
//   vectors  [dims] each, in device memory; the product with null is 0
__device__ inline void multiply(const float* const (&vectors)[kVectorsAtOnce], const float* unit, int dims,
                                int lane, float (&products)[kVectorsAtOnce]) {
  float sums[kVectorsAtOnce] = {};
  for (int first = lane; first < dims; first += kWarpLanes * kVectorLoads) {
    float x[kVectorsAtOnce][kVectorLoads];
#pragma unroll
    for (int v = 0; v < kVectorsAtOnce; ++v)
#pragma unroll
      for (int i = 0; i < kVectorLoads; ++i)
        x[v][i] = first + kWarpLanes * i < dims && vectors[v] != nullptr
                      ? __ldg(vectors[v] + first + kWarpLanes * i)
                      : 0.0f;
    float parts[kVectorsAtOnce] = {};
#pragma unroll
    for (int i = 0; i < kVectorLoads; ++i) {
      const float of_query = first + kWarpLanes * i < dims ? unit[first + kWarpLanes * i] : 0.0f;
#pragma unroll
      for (int v = 0; v < kVectorsAtOnce; ++v) parts[v] = fmaf(of_query, x[v][i], parts[v]);
    }
#pragma unroll
    for (int v = 0; v < kVectorsAtOnce; ++v) sums[v] += parts[v];
  }
#pragma unroll
  for (int v = 0; v < kVectorsAtOnce; ++v) products[v] = warp_sum(sums[v]);
}

// Computes the products of the centroids and the query's unit vector, and then those of a rotation's rows.
__device__ inline void multiply_lists(const PlaneScanParams& params, const float* unit, int rotated, int warp,
                                      int lane) {
  const DevicePlanes& planes = params.coarse.scan.part.planes;
  const int dims = params.coarse.scan.part.dims;
  const int count = planes.lists + rotated;
  const int warps = kThreads / kWarpLanes * static_cast<int>(gridDim.x);
  for (int own = warp * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x); own < count;
       own += warps * kVectorsAtOnce) {
    const float* vectors[kVectorsAtOnce];
    float products[kVectorsAtOnce];
#pragma unroll
    for (int v = 0; v < kVectorsAtOnce; ++v) {
      const int i = own + v * warps;
      vectors[v] = i >= count         ? nullptr
                   : i < planes.lists ? planes.centroids + int64_t{i} * dims
                                      : planes.signs.rotation + int64_t{i - planes.lists} * dims;
    }
    multiply(vectors, unit, dims, lane, products);
    float product = 0;
#pragma unroll
    for (int v = 0; v < kVectorsAtOnce; ++v)
      if (lane == v) product = products[v];
    const int i = own + lane * warps;
    if (lane < kVectorsAtOnce && i < count) __stcg(params.products + i, product);
  }
}

// What a query makes of the sum of its codes and a row's bits, and of the row's distance.
struct CodeLine {
  float step, start, factor;
};

// The lists of the positions of a warp's tiles. The lanes load those of 32 rounds at once, so that a warp
// does not wait for each.
class ListsOfTiles {
 public:
  // Returns the list of a row of the warp's next tile, which is at this place, or a list if there is no such
  // tile. Called by whole warps, for all their places in order.
  __device__ int next(const SingleScanParams& scan, const Share& share, int place, int row, int lane) {
    const int turn = round_++ % kWarpLanes;
    if (turn == 0) {
      const int tile = share.tile(scan, place + lane * share.warps);
      loaded_ = tile >= 0 && tile < scan.tiles
                    ? __ldg(reinterpret_cast<const uint2*>(scan.part.planes.tiles) + tile)
                    : make_uint2(0, 0);
    }
    const uint32_t first = __shfl_sync(kFullWarp, loaded_.x, turn);
    const uint32_t starts = __shfl_sync(kFullWarp, loaded_.y, turn);
    return static_cast<int>(first) + __popc(starts & ((2u << row) - 1));
  }

 private:
  uint2 loaded_ = {0, 0};
  int round_ = 0;
};

// The numbers of a PlaneBound, which a row's last six bytes hold.
struct LaneBound {
  float centroid, code, distance;

  __device__ LaneBound(uint32_t last_but_one, uint32_t last)
      : centroid(value(last_but_one >> 16)), code(value(last & 0xffffu)), distance(value(last >> 16)) {}

 private:
  __device__ static float value(uint32_t half) {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(half)));
  }
};

// Returns the row at a position, or -1 if there is none, or in a damaged file none with this number.
__device__ inline int row_at(const SingleScanParams& scan, int position) {
  if (position < 0) return -1;
  const int row = __ldg(scan.part.planes.rows + position);
  return row >= 0 && row < scan.part.rows ? row : -1;
}

// Counts lower bounds, computed in float, of the similarities of the best rows that the warp's lanes have
// seen.
//   best  the lane's position
__device__ inline void count_seeds(const PlaneScanParams& params, const float* unit, Best best, int lane) {
  // With other lengths, products may leave the range of float.
  constexpr double kLeastSquare = 1e-50, kMostSquare = 1e70;
  const SingleScanParams& scan = params.coarse.scan;
  const int seeds = params.coarse.seeds_per_warp;
  int position = -1;
  for (int i = 0; i < seeds; ++i) {
    const float top = warp_max(best.estimate);
    const int winner = __ffs(static_cast<int>(__ballot_sync(kFullWarp, best.estimate == top))) - 1;
    const int seed = __shfl_sync(kFullWarp, best.row, winner);
    if (lane == winner) best = Best();
    if (lane == i) position = seed;
  }
  const int row = row_at(scan, position);
  const double square = row >= 0 ? __ldg(scan.part.norms_squared + row) : 0.0;
  const bool is_usable = square > kLeastSquare && square < kMostSquare;
  float product = 0;
  for (int first = 0; first < seeds; first += kVectorsAtOnce) {
    const float* vectors[kVectorsAtOnce];
    float products[kVectorsAtOnce];
#pragma unroll
    for (int v = 0; v < kVectorsAtOnce; ++v) {
      const int seed = first + v < seeds ? __shfl_sync(kFullWarp, row, first + v) : -1;
      vectors[v] = seed < 0 ? nullptr : scan.part.vectors + int64_t{seed} * scan.part.dims;
    }
    multiply(vectors, unit, scan.part.dims, lane, products);
#pragma unroll
    for (int v = 0; v < kVectorsAtOnce; ++v)
      if (lane == first + v) product = products[v];
  }
  const float lower = is_usable ? product * static_cast<float>(rsqrt(square)) - kSeedError : -INFINITY;
  if (lower > static_cast<float>(kNoSimilarity)) atomicAdd(scan.counters->histogram + bin_of(lower), 1u);
}

// Puts rows in the place of their positions, and has their 8-bit codes fetched, and of few rows, which may
// all be candidates, their vectors. Called by all threads of the block.
__device__ inline void find_rows(const SingleScanParams& scan, int* rows, int count) {
  const DevicePart& part = scan.part;
  const auto bytes = static_cast<int>(packed_row_bytes(part.dims));
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    const int row = row_at(scan, rows[i]);
    rows[i] = row;
    if (row < 0) continue;
    const std::byte* from = part.packed_rows + int64_t{row} * bytes;
    for (int byte = 0; byte < bytes; byte += 4 * kLineWords) fetch_line(from + byte);
    if (count > kFewSurvivors) continue;
    fetch_line(part.norms_squared + row);
    for (int j = 0; j < part.dims; j += kLineWords) fetch_line(part.vectors + int64_t{row} * part.dims + j);
  }
}

// Looks up the block's rows whose upper bounds reach the threshold, and writes those that the 8-bit codes do
// not rule out. lists: [kBins] in shared memory that is no longer used. Called by all threads of the block.
__device__ inline void refine(const SingleScanParams& scan, const Share& share, const uint4* planes,
                              const float* query, const uint16_t* uppers, float threshold, int* lists,
                              int warp, int lane) {
  __shared__ int survivor_count;
  __shared__ int candidate_count;
  int* survivors = lists;
  int* candidates = lists + kMostSurvivors;
  const uint16_t code = threshold_code(threshold);
  int64_t step = share.rows();  // all rows at once, if their survivors fit
  for (int64_t first = 0; first < share.rows();) {
    __syncthreads();
    if (threadIdx.x == 0) survivor_count = candidate_count = 0;
    __syncthreads();
    const int64_t last = min(share.rows(), first + step);
    collect_candidates(scan, share, uppers, first, last, code, survivors, kMostSurvivors, &survivor_count);
    __syncthreads();
    const int count = survivor_count;
    if (count > kMostSurvivors) {
      step = max(int64_t{kMostCandidates}, (last - first) * (kMostSurvivors / 8 * 7) / count / 8 * 8);
      continue;
    }
    find_rows(scan, survivors, count);
    __syncthreads();
    // A few survivors are spread over as many warps.
    for (int base = 0; base < count; base += kWarpLanes / kLookupLanes * share.warps) {
      const int i = base + lane / kLookupLanes * share.warps + warp;
      const int row = i < count ? survivors[i] : -1;
      const RowBound bound = packed_row_bound(scan, planes, row, lane);
      if (lane % kLookupLanes != 0 || upper_code(bound.upper) < code) continue;
      const int slot = atomicAdd(&candidate_count, 1);
      if (slot < kMostCandidates) candidates[slot] = row;
    }
    __syncthreads();
    const int found = candidate_count;
    if (found > kMostCandidates) {
      step = kMostCandidates;
      continue;
    }
    write_candidates(scan, share, query, uppers, candidates, found, warp, lane);
    first = last;
  }
}

// The kernel for rows whose codes are of one kind. What depends on the kind:
//   kRotated       whether the query must be rotated and encoded; otherwise its codes come with it
//   words(planes)  the words of all tiles
//   line(...)      returns the query's line, and encodes the rotated query
//   scan(...)      sets the upper bound of each row of the block's share; returns the lane's best position
template <class Codes>
__device__ void scan_lists(const PlaneScanParams& params, int staged_rows) {
  extern __shared__ __align__(128) std::byte shared[];
  __shared__ ThresholdScratch scratch;
  const SingleScanParams& scan = params.coarse.scan;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  ScanTimes times;
  times.started = global_nanoseconds();

  const auto* planes = reinterpret_cast<const uint4*>(shared);
  const auto* query = reinterpret_cast<const float*>(shared + query_floats_offset(scan.part.dims));
  std::byte* codes = shared + query_bytes(scan.part.dims);
  auto* unit = reinterpret_cast<float*>(codes + params.code_bytes);
  std::byte* behind_query = shared + list_query_bytes(scan.part.dims, params.code_bytes);
  auto* histogram = reinterpret_cast<uint32_t*>(behind_query);
  const Share share(scan.tiles, static_cast<int>(gridDim.x));
  uint16_t* uppers = scan.row_upper != nullptr ? scan.row_upper + share.rows() * blockIdx.x
                                               : reinterpret_cast<uint16_t*>(histogram + kBins);
  if (Codes::kRotated) {
    start_block(scan, scan.part.dims * 4, shared + query_floats_offset(scan.part.dims), histogram);
    encode_query(params, query, reinterpret_cast<int8_t*>(shared));
  } else {
    start_block(scan, query_bytes(scan.part.dims) + params.code_bytes, shared, histogram);
  }
  normalize(params, query, unit);
  multiply_lists(params, unit, Codes::kRotated ? scan.part.planes.signs.bits : 0, warp, lane);
  fetch_ahead(scan, share, Codes::words(scan.part.planes), params.tile_words);
  grid_barrier(&scan.counters->multiplied);
  const CodeLine line = Codes::line(params, codes, warp, lane);
  const Best best = Codes::scan(params, share, line, codes, uppers, warp, lane);
  count_seeds(params, unit, best, lane);
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

}  // namespace glove::gpu
