#include "gpu/kernels/plane_scan.h"

#include "gpu/kernels/list_query.cuh"

namespace glove::gpu {
namespace {

constexpr int kPlaneQuads = 4;  // 16-byte quads of a row in flight per lane

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
//   query  the codes for each word, in shared memory
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
__device__ Best scan_share(const PlaneScanParams& params, const Share& share, const CodeLine& line,
                           const uint4* query, uint16_t* uppers, int warp, int lane) {
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
      products[t] = __ldcg(params.products + lists.next(scan, share, own, lane, lane));
      tiles[t] = own < places && tile >= 0 && tile < scan.tiles ? tile : -1;
      codes[t] = planes.plane1 + static_cast<int64_t>(max(tiles[t], 0)) * params.tile_words;
    }
    LaneRow rows[kTilesAtOnce];
    read_tiles(codes, query, params.tile_words / kRowsPerTile, lane, rows);
#pragma unroll
    for (int t = 0; t < kTilesAtOnce; ++t) {
      const int own = place + t * share.warps;
      if (own >= places) break;
      float upper = -INFINITY;
      if (tiles[t] >= 0) {
        const LaneBound bound(rows[t].last_but_one, rows[t].last);
        const float by_code = static_cast<float>(rows[t].sum.total()) * line.step + line.start;
        const float product = bound.centroid * products[t] + bound.code * by_code;
        if (bound.distance != 0) upper = largest_plane_similarity(product, bound.distance);
        if (bound.distance != 0 && product > best.estimate) best = {product, tiles[t] * kRowsPerTile + lane};
      }
      uppers[int64_t{own} * kRowsPerTile + lane_of_row(lane)] = upper_code(upper);
    }
  }
  return best;
}

struct Plane1 {
  static constexpr bool kRotated = false;
  __device__ static const uint32_t* words(const DevicePlanes& planes) { return planes.plane1; }
  __device__ static CodeLine line(const PlaneScanParams& params, std::byte*, int, int) {
    return {params.step, params.start, 1};
  }
  __device__ static Best scan(const PlaneScanParams& params, const Share& share, const CodeLine& line,
                              const std::byte* codes, uint16_t* uppers, int warp, int lane) {
    return scan_share(params, share, line, reinterpret_cast<const uint4*>(codes), uppers, warp, lane);
  }
};

__global__ void __launch_bounds__(kThreads, 1)
    plane_scan_kernel(const __grid_constant__ PlaneScanParams params, const int staged_rows) {
  scan_lists<Plane1>(params, staged_rows);
}

}  // namespace

ScanShape list_scan_shape(const ScanShape& shape, int64_t dims, int64_t code_bytes) {
  ScanShape own = shape;
  own.query_bytes = static_cast<int>(list_query_bytes(dims, code_bytes));
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
