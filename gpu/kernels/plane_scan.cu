#include "gpu/kernels/plane_scan.h"

#include <cuda_fp16.h>

#include <algorithm>

#include "gpu/kernels/coarse_query.cuh"
#include "gpu/layout/query_codes.h"
#include "gpu/primitives/block/grid_barrier.cuh"
#include "gpu/primitives/block/threshold.cuh"

namespace glove::gpu {
namespace {

constexpr int kTilesAtOnce = 2;  // of a warp
constexpr int kPlaneQuads = 4;   // 16-byte quads of a row in flight per lane
// Rows that a block looks up at a time, and writes at a time.
constexpr int kMostSurvivors = kBins / 4 * 3;
constexpr int kMostCandidates = kBins / 4;
constexpr int kTeamLanes = 8;    // lanes that compute one exact product
constexpr int kCacheLine = 128;  // bytes

__host__ __device__ int64_t plane_query_bytes(int64_t dims, int64_t row_words) {
  return query_bytes(dims) + row_words * static_cast<int64_t>(sizeof(uint4));
}

// Computes the products of the centroids and the query's unit vector.
__device__ void multiply_lists(const PlaneScanParams& params, const float* query, int warp, int lane) {
  const DevicePlanes& planes = params.coarse.scan.part.planes;
  constexpr int kTeams = kWarpLanes / kTeamLanes;
  constexpr int kWarps = kThreads / kWarpLanes;
  const int dims = params.coarse.scan.part.dims;
  const int step = kTeams * kWarps * static_cast<int>(gridDim.x);
  for (int first = kTeams * (warp * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x));
       first < planes.lists; first += step) {
    const int list = first + lane / kTeamLanes;
    const float* centroid =
        list < planes.lists ? planes.centroids + static_cast<int64_t>(list) * dims : nullptr;
    const double dot = team_exact_dot<kRowLoads>(query, centroid, dims, lane);
    if (lane % kTeamLanes == 0 && list < planes.lists)
      __stcg(params.products + list, static_cast<float>(dot * params.inverse_norm));
  }
}

// The lists of the positions of a warp's tiles. The lanes load those of 32 rounds at once, so that a warp
// does not wait for each.
class ListsOfTiles {
 public:
  // Returns the list of the lane's position in the warp's next tile, which is at this place, or a list if
  // there is no such tile. Called by whole warps, for all their places in order.
  __device__ int next(const SingleScanParams& scan, const Share& share, int place, int lane) {
    const int turn = round_++ % kWarpLanes;
    if (turn == 0) {
      const int tile = share.tile(scan, place + lane * share.warps);
      loaded_ = tile >= 0 && tile < scan.tiles
                    ? __ldg(reinterpret_cast<const uint2*>(scan.part.planes.tiles) + tile)
                    : make_uint2(0, 0);
    }
    const uint32_t first = __shfl_sync(kFullWarp, loaded_.x, turn);
    const uint32_t starts = __shfl_sync(kFullWarp, loaded_.y, turn);
    return static_cast<int>(first) + __popc(starts & ((2u << lane) - 1));
  }

 private:
  uint2 loaded_ = {0, 0};
  int round_ = 0;
};

// The sum of the products of a row's bits and the query's codes.
struct PlaneSum {
  int ones = 0;
  int sixteens = 0;

  // query: four codes for each pair of bits of the word's bytes, the lowest first.
  __device__ void add(uint32_t word, uint4 query) {
    const uint32_t shifted = word >> 2;
    ones = __dp4a(static_cast<int>(word & 0x03030303u), static_cast<int>(query.x), ones);
    ones = __dp4a(static_cast<int>(shifted & 0x03030303u), static_cast<int>(query.y), ones);
    sixteens = __dp4a(static_cast<int>(word & 0x30303030u), static_cast<int>(query.z), sixteens);
    sixteens = __dp4a(static_cast<int>(shifted & 0x30303030u), static_cast<int>(query.w), sixteens);
  }
  __device__ int total() const { return ones + (sixteens >> 4); }  // a multiple of 16
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

// The lane's row of a tile.
struct LaneRow {
  PlaneSum sum;
  uint32_t last_but_one = 0;
  uint32_t last = 0;

  __device__ void add(uint32_t word, uint4 query) {
    sum.add(word, query);
    last_but_one = last;
    last = word;
  }
};

// Reads the lane's rows of some tiles.
//   codes  the first word of each tile; they are read once and hinted to leave the cache first
//   query  [words] in shared memory
__device__ void read_tiles(const uint32_t* const (&codes)[kTilesAtOnce], const uint4* query, int words,
                           int lane, LaneRow (&rows)[kTilesAtOnce]) {
  const int quads = words / 4;
  const int others = words % 4;
  uint32_t other[kTilesAtOnce][3];
#pragma unroll
  for (int t = 0; t < kTilesAtOnce; ++t)
#pragma unroll
    for (int i = 0; i < 3; ++i)
      other[t][i] = i < others ? __ldcs(codes[t] + (quads * 4 + i) * kRowsPerTile + lane) : 0;
  for (int first = 0; first < quads; first += kPlaneQuads) {
    uint4 loaded[kTilesAtOnce][kPlaneQuads];
#pragma unroll
    for (int t = 0; t < kTilesAtOnce; ++t) {
      const uint4* mine = reinterpret_cast<const uint4*>(codes[t]) + first * kRowsPerTile + lane;
#pragma unroll
      for (int i = 0; i < kPlaneQuads; ++i)
        loaded[t][i] = first + i < quads ? __ldcs(mine + i * kRowsPerTile) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < kPlaneQuads; ++i) {
      if (first + i >= quads) break;
      const uint4* of_quad = query + (first + i) * 4;
#pragma unroll
      for (int t = 0; t < kTilesAtOnce; ++t) {
        rows[t].add(loaded[t][i].x, of_quad[0]);
        rows[t].add(loaded[t][i].y, of_quad[1]);
        rows[t].add(loaded[t][i].z, of_quad[2]);
        rows[t].add(loaded[t][i].w, of_quad[3]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    if (i >= others) break;
#pragma unroll
    for (int t = 0; t < kTilesAtOnce; ++t) rows[t].add(other[t][i], query[quads * 4 + i]);
  }
}

// uppers: [share.rows()], in the order of Share::row. Returns the lane's best position.
__device__ Best scan_share(const PlaneScanParams& params, const Share& share, const uint4* query,
                           uint16_t* uppers, int warp, int lane) {
  const SingleScanParams& scan = params.coarse.scan;
  const DevicePlanes& planes = scan.part.planes;
  Best best;
  ListsOfTiles lists;
  const int places = share.rounds * share.warps;
  for (int place = warp; place < places; place += kTilesAtOnce * share.warps) {
    int tiles[kTilesAtOnce];
    float products[kTilesAtOnce];
    const uint32_t* codes[kTilesAtOnce];
#pragma unroll
    for (int t = 0; t < kTilesAtOnce; ++t) {
      const int own = place + t * share.warps;
      const int tile = share.tile(scan, own);
      products[t] = __ldcg(params.products + lists.next(scan, share, own, lane));
      tiles[t] = own < places && tile >= 0 && tile < scan.tiles ? tile : -1;
      codes[t] = planes.plane1 + static_cast<int64_t>(max(tiles[t], 0)) * kRowsPerTile * params.row_words;
    }
    LaneRow rows[kTilesAtOnce];
    read_tiles(codes, query, params.row_words, lane, rows);
#pragma unroll
    for (int t = 0; t < kTilesAtOnce; ++t) {
      const int own = place + t * share.warps;
      if (own >= places) break;
      float upper = -INFINITY;
      if (tiles[t] >= 0) {
        const LaneBound bound(rows[t].last_but_one, rows[t].last);
        const float by_code = static_cast<float>(rows[t].sum.total()) * params.step + params.start;
        const float product = bound.centroid * products[t] + bound.code * by_code;
        if (bound.distance != 0) upper = largest_plane_similarity(product, bound.distance);
        if (bound.distance != 0 && product > best.estimate) best = {product, tiles[t] * kRowsPerTile + lane};
      }
      uppers[int64_t{own} * kRowsPerTile + lane_of_row(lane)] = upper_code(upper);
    }
  }
  return best;
}

// Returns the row at a position, or -1 if there is none, or in a damaged file none with this number.
__device__ int row_at(const SingleScanParams& scan, int position) {
  if (position < 0) return -1;
  const int row = __ldg(scan.part.planes.rows + position);
  return row >= 0 && row < scan.part.rows ? row : -1;
}

// Puts rows in the place of their positions, and has their 8-bit codes fetched. Called by all threads of the
// block.
__device__ void find_rows(const SingleScanParams& scan, int* rows, int count) {
  const auto bytes = static_cast<int>(packed_row_bytes(scan.part.dims));
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    const int row = row_at(scan, rows[i]);
    rows[i] = row;
    if (row < 0) continue;
    const std::byte* from = scan.part.packed_rows + int64_t{row} * bytes;
    for (int byte = 0; byte < bytes; byte += kCacheLine)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(from + byte));
  }
}

// Looks up the block's rows whose upper bounds reach the threshold, and writes those that the 8-bit codes do
// not rule out. lists: [kBins] in shared memory that is no longer used. Called by all threads of the block.
__device__ void refine(const SingleScanParams& scan, const Share& share, const uint4* planes,
                       const float* query, const uint16_t* uppers, float threshold, int* lists, int warp,
                       int lane) {
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

__global__ void __launch_bounds__(kThreads, 1)
    plane_scan_kernel(const __grid_constant__ PlaneScanParams params, const int staged_rows) {
  extern __shared__ __align__(128) std::byte shared[];
  __shared__ ThresholdScratch scratch;
  const SingleScanParams& scan = params.coarse.scan;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  ScanTimes times;
  times.started = global_nanoseconds();

  const auto* planes = reinterpret_cast<const uint4*>(shared);
  const auto* query = reinterpret_cast<const float*>(shared + query_floats_offset(scan.part.dims));
  const auto* plane_codes = reinterpret_cast<const uint4*>(shared + query_bytes(scan.part.dims));
  std::byte* behind_query = shared + (plane_query_bytes(scan.part.dims, params.row_words) + 127) / 128 * 128;
  auto* histogram = reinterpret_cast<uint32_t*>(behind_query);
  const Share share(scan.tiles, static_cast<int>(gridDim.x));
  uint16_t* uppers = scan.row_upper != nullptr ? scan.row_upper + share.rows() * blockIdx.x
                                               : reinterpret_cast<uint16_t*>(histogram + kBins);
  start_block(scan, plane_query_bytes(scan.part.dims, params.row_words), shared, histogram);
  multiply_lists(params, query, warp, lane);
  grid_barrier(&scan.counters->multiplied);
  Best best = scan_share(params, share, plane_codes, uppers, warp, lane);
  best.row = row_at(scan, best.row);
  count_seeds(scan, params.coarse.seeds_per_warp, query, best, lane);
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

ScanShape plane_scan_shape(const ScanShape& shape, int64_t dims) {
  ScanShape own = shape;
  own.query_bytes = static_cast<int>((plane_query_bytes(dims, plane_row_words(dims)) + 127) / 128 * 128);
  return own;
}

cudaError_t prepare_plane_scan(const ScanShape& shape) {
  return cudaFuncSetAttribute(plane_scan_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              shape.shared_limit);
}

cudaError_t launch_plane_scan(const PlaneScanParams& params, const ScanShape& shape, cudaStream_t stream) {
  return launch_for_query(plane_scan_kernel, params, params.coarse.scan, shape, stream);
}

}  // namespace glove::gpu
