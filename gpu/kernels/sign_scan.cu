#include "gpu/kernels/list_query.cuh"
#include "gpu/kernels/plane_scan.h"
#include "gpu/primitives/warp/bit_matrix.cuh"

namespace glove::gpu {
namespace {

constexpr int kGroupsAtOnce = 2;  // of eight words of a row
constexpr int kHalves = 2;        // of a tile, of 16 rows
constexpr int kGroupWords = 8;
constexpr int kQueryPlanes = 8;  // bits of a code
constexpr int kMostCode = 127;   // of the rotated query

// The component whose sign is a bit of a word (sign_place() in lists/sign_plane.h).
__device__ int component_of_bit(int word, int bit) {
  return word * 32 + bit % 8 * 4 + bit / 8;
}

// Where shared memory has a word of a plane of the query's codes: [groups][32 lanes][2], each lane's words as
// bit_multiply_add() takes them, and the rest [32 lanes]. words: of all, a multiple of 4
__device__ int query_word_index(int word, int plane, int words) {
  const int group = word / kGroupWords;
  const int lane = plane * 4 + word % 4;
  if (group < words / kGroupWords) return (group * kWarpLanes + lane) * 2 + word % kGroupWords / 4;
  return words / kGroupWords * kWarpLanes * 2 + lane;
}

// Encodes the rotated query, which multiply() has computed, and returns its line: as upper_line()
// (lists/planes.h), and with a start of infinity, which rules nothing out, if the rotation is damaged.
// Called by all threads of the block, which see all codes afterwards.
//   planes_of_query  [8 * words] in shared memory, in the order of query_word_index()
__device__ CodeLine encode_rotated(const PlaneScanParams& params, uint32_t* planes_of_query, int warp,
                                   int lane) {
  constexpr int kWarps = kThreads / kWarpLanes;
  __shared__ float largest_of[kWarps], squares_of[kWarps], rests_of[kWarps];
  __shared__ uint32_t sum_of[kWarps];
  const DevicePlanes& planes = params.coarse.scan.part.planes;
  const int bits = planes.signs.bits;
  const float* rotated = params.products + planes.lists;
  const int words = params.code_bytes / (4 * kQueryPlanes);
  float largest = 0;
  for (int j = static_cast<int>(threadIdx.x); j < bits; j += kThreads)
    largest = fmaxf(largest, fabsf(__ldcg(rotated + j)));
  largest = warp_max(largest);
  if (lane == 0) largest_of[warp] = largest;
  __syncthreads();
  for (int i = 0; i < kWarps; ++i) largest = fmaxf(largest, largest_of[i]);
  const float step = largest / kMostCode;
  const float inverse = kMostCode / largest;
  float squares = 0, rests = 0;
  int sum = 0;
  for (int word = warp; word < words; word += kWarps) {
    const int j = component_of_bit(word, lane);
    const float component = j < bits ? __ldcg(rotated + j) : 0;
    const int code = j < bits ? min(max(__float2int_rn(component * inverse), -kMostCode), kMostCode) : 0;
    const float rest = fmaf(-step, static_cast<float>(code), component);
    squares += component * component;
    rests += rest * rest;
    sum += code;
#pragma unroll
    for (int plane = 0; plane < kQueryPlanes; ++plane) {
      const uint32_t of_plane = __ballot_sync(kFullWarp, (code >> plane & 1) != 0);
      if (lane == plane) planes_of_query[query_word_index(word, plane, words)] = of_plane;
    }
  }
  squares = warp_sum(squares);
  rests = warp_sum(rests);
  const uint32_t warp_codes = warp_sum(static_cast<uint32_t>(sum));
  if (lane == 0) {
    squares_of[warp] = squares;
    rests_of[warp] = rests;
    sum_of[warp] = warp_codes;
  }
  __syncthreads();
  squares = rests = 0;
  uint32_t code_sum = 0;
  for (int i = 0; i < kWarps; ++i) {
    squares += squares_of[i];
    rests += rests_of[i];
    code_sum += sum_of[i];
  }
  if (!(fabsf(squares - 1) <= static_cast<float>(kMostStretch))) return {0, INFINITY, 1};
  // The rotated components are off by as much, and 2^-16 covers the roundings of these sums.
  const float length = sqrtf(static_cast<float>(bits));
  const float error = (sqrtf(rests) + length * kProductError) * (1 + 0x1p-16f) + 0x1p-20f;
  const float start = length * error - step * static_cast<float>(static_cast<int32_t>(code_sum));
  return {2 * step, start, params.factor};
}

// A tile of rows of signs as lanes read it (gpu/layout/plane_tiles.h). Lane l has the row l / 4 + 8 * (l % 4)
// in the end.
struct SignTile {
  int sums[kHalves][4] = {};

  // The row's sum of the products of its bits and the query's codes. All lanes must call it.
  __device__ int total(int lane) const {
    const int quarter = lane % 4;
    const int low = 1 << 2 * quarter;
    const int high = quarter == 3 ? -128 : 2 * low;  // codes are in two's complement
    int rows[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) rows[i] = sums[i / 2][i % 2 * 2] * low + sums[i / 2][i % 2 * 2 + 1] * high;
    const bool second_pair = (quarter & 2) != 0;
    const int pair0 =
        (second_pair ? rows[2] : rows[0]) + __shfl_xor_sync(kFullWarp, second_pair ? rows[0] : rows[2], 2);
    const int pair1 =
        (second_pair ? rows[3] : rows[1]) + __shfl_xor_sync(kFullWarp, second_pair ? rows[1] : rows[3], 2);
    const bool second = (quarter & 1) != 0;
    return (second ? pair1 : pair0) + __shfl_xor_sync(kFullWarp, second ? pair0 : pair1, 1);
  }
};

// Multiplies the rows of some tiles.
//   codes  the first word of each tile
//   query  the planes of the query's codes
__device__ void read_tiles(const uint32_t* const (&codes)[kTilesAtOnce], const uint32_t* query, int words,
                           int lane, SignTile (&tiles)[kTilesAtOnce]) {
  const int groups = words / kGroupWords;
  for (int first = 0; first < groups; first += kGroupsAtOnce) {
    uint4 loaded[kTilesAtOnce][kGroupsAtOnce][kHalves];
#pragma unroll
    for (int t = 0; t < kTilesAtOnce; ++t) {
      const uint4* mine = reinterpret_cast<const uint4*>(codes[t]) + first * kHalves * kWarpLanes + lane;
#pragma unroll
      for (int i = 0; i < kGroupsAtOnce; ++i)
#pragma unroll
        for (int half = 0; half < kHalves; ++half)
          loaded[t][i][half] =
              first + i < groups ? __ldg(mine + (i * kHalves + half) * kWarpLanes) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < kGroupsAtOnce; ++i) {
      if (first + i >= groups) break;
      const uint2 of_group = reinterpret_cast<const uint2*>(query)[(first + i) * kWarpLanes + lane];
#pragma unroll
      for (int t = 0; t < kTilesAtOnce; ++t)
#pragma unroll
        for (int half = 0; half < kHalves; ++half)
          bit_multiply_add(tiles[t].sums[half], loaded[t][i][half], of_group);
    }
  }
  if (words % kGroupWords == 0) return;
  const uint32_t of_rest = query[groups * kWarpLanes * 2 + lane];
#pragma unroll
  for (int t = 0; t < kTilesAtOnce; ++t) {
    const auto* rest = reinterpret_cast<const uint2*>(codes[t] + groups * kGroupWords * kRowsPerTile);
#pragma unroll
    for (int half = 0; half < kHalves; ++half)
      bit_multiply_add(tiles[t].sums[half], __ldg(rest + half * kWarpLanes + lane), of_rest);
  }
}

// uppers: [share.rows()], in the order of Share::row. Returns the lane's best position.
__device__ Best scan_share(const PlaneScanParams& params, const Share& share, const CodeLine& line,
                           const uint32_t* query, uint16_t* uppers, int warp, int lane) {
  const SingleScanParams& scan = params.coarse.scan;
  const DeviceSigns& signs = scan.part.planes.signs;
  const int words = params.code_bytes / (4 * kQueryPlanes);
  const int row = lane / 4 + lane % 4 * 8;
  Best best;
  ListsOfTiles lists;
  const int places = share.rounds * share.warps;
  for (int place = warp; place < places; place += kTilesAtOnce * share.warps) {
    int tiles[kTilesAtOnce];
    float products[kTilesAtOnce];
    uint2 bounds[kTilesAtOnce];
    const uint32_t* codes[kTilesAtOnce];
#pragma unroll
    for (int t = 0; t < kTilesAtOnce; ++t) {
      const int own = place + t * share.warps;
      const int tile = share.tile(scan, own);
      products[t] = __ldcg(params.products + lists.next(scan, share, own, row, lane));
      tiles[t] = own < places && tile >= 0 && tile < scan.tiles ? tile : -1;
      codes[t] = signs.words + static_cast<int64_t>(max(tiles[t], 0)) * params.tile_words;
      bounds[t] = __ldg(reinterpret_cast<const uint2*>(codes[t] + words * kRowsPerTile) + lane);
    }
    SignTile sums[kTilesAtOnce];
    read_tiles(codes, query, words, lane, sums);
#pragma unroll
    for (int t = 0; t < kTilesAtOnce; ++t) {
      const int own = place + t * share.warps;
      if (own >= places) break;
      const LaneBound bound(bounds[t].x, bounds[t].y);
      const float by_code = static_cast<float>(sums[t].total(lane)) * line.step + line.start;
      const float product = bound.centroid * products[t] + bound.code * by_code;
      const bool is_row = tiles[t] >= 0 && bound.distance != 0;
      const float upper =
          is_row ? largest_plane_similarity(product, bound.distance * line.factor) : -INFINITY;
      if (is_row && product > best.estimate) best = {product, tiles[t] * kRowsPerTile + row};
      uppers[int64_t{own} * kRowsPerTile + lane_of_row(row)] = upper_code(upper);
    }
  }
  return best;
}

struct Signs {
  static constexpr bool kRotated = true;
  __device__ static const uint32_t* words(const DevicePlanes& planes) { return planes.signs.words; }
  __device__ static CodeLine line(const PlaneScanParams& params, std::byte* codes, int warp, int lane) {
    return encode_rotated(params, reinterpret_cast<uint32_t*>(codes), warp, lane);
  }
  __device__ static Best scan(const PlaneScanParams& params, const Share& share, const CodeLine& line,
                              const std::byte* codes, uint16_t* uppers, int warp, int lane) {
    return scan_share(params, share, line, reinterpret_cast<const uint32_t*>(codes), uppers, warp, lane);
  }
};

__global__ void __launch_bounds__(kThreads, 1)
    sign_scan_kernel(const __grid_constant__ PlaneScanParams params, const int staged_rows) {
  scan_lists<Signs>(params, staged_rows);
}

}  // namespace

cudaError_t prepare_sign_scan(const ScanShape& shape) {
  return cudaFuncSetAttribute(sign_scan_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              shape.shared_limit);
}

cudaError_t launch_sign_scan(const PlaneScanParams& params, const ScanShape& shape, cudaStream_t stream) {
  return launch_for_query(sign_scan_kernel, params, params.coarse.scan, shape, stream);
}

}  // namespace glove::gpu
