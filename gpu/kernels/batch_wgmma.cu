#include "gpu/kernels/batch_wgmma.h"

#include "gpu/kernels/batch_bounds.cuh"
#include "gpu/kernels/launch.cuh"
#include "gpu/layout/packed_rows.h"
#include "gpu/layout/query_codes.h"
#include "gpu/layout/tile.h"
#include "gpu/primitives/warp/reduce.cuh"
#include "gpu/primitives/warpgroup/matrix.cuh"

namespace glove::gpu {
namespace {

constexpr int kWarpgroups = 2;
constexpr int kHalves =
    2;  // of a chunk: a warpgroup looks at one while the tensor cores multiply with the other
constexpr int kChunkQueries = kHalves * kMatrixColumns;
constexpr int kThreads = kWarpgroups * kWarpgroupThreads;
constexpr int kKept = 8;  // rows that a thread keeps until its warp writes all of its rows to the lists
constexpr int kTilesPerPiece = kMatrixRows / kRowsPerTile;
constexpr int kWarpBlocks = 2;  // blocks of kCoreRows rows per warp
static_assert(kMatrixRows == 4 * kWarpBlocks * kCoreRows && kRowsPerTile == 2 * kWarpBlocks * kCoreRows,
              "the first two warps of a warpgroup have one tile and the others the next");

// A row that a query's threshold does not rule out: the sum and, in the low eight bits, the place of the
// query.
struct KeptRow {
  int32_t row;
  int32_t sum_and_place;
};

// The shared memory of a block.
template <int kPairs>
struct BlockMemory {
  static constexpr int kStride = kPairs * kPairWords * kCoreBytes;  // bytes of eight queries
  static constexpr int kQueryBytes = kChunkQueries / kCoreRows * kStride;

  std::byte queries[kQueryBytes];
  float2 bounds[kChunkQueries];    // slope and floor of ChunkQuery
  KeptRow kept[kKept * kThreads];  // [kKept, kThreads]; for a sample, scratch of keep_best
};

// The tiles that a warp multiplies, one per round: those of a sample, or [first, last).
template <bool kSample>
struct TileRounds {
  int first, last;
  int warp_first;  // the warp's place in a round
  int per_round;
  int rounds;

  __device__ TileRounds(int from, int to, int query_chunks, int warpgroup, int warp) : first(from), last(to) {
    const int teams = static_cast<int>(gridDim.x) / query_chunks;
    const int team = static_cast<int>(blockIdx.x) / query_chunks;
    warp_first = (team * kWarpgroups + warpgroup) * kTilesPerPiece + warp / 2;
    per_round = teams * kWarpgroups * kTilesPerPiece;
    rounds = (last - first + per_round - 1) / per_round;
  }
  // The number of the tile among those of the launch; not below `last` if there is none.
  __device__ int order(int round) const { return first + round * per_round + warp_first; }
  __device__ int tile(const BatchScanParams& scan, int order) const {
    return kSample ? static_cast<int>(static_cast<int64_t>(order) * scan.tiles / scan.sample_tiles) : order;
  }
};

// What the scan needs of the two rows that a lane has sums of.
struct PieceRows {
  int32_t first;  // the other one is kCoreRows further
  float scale[kWarpBlocks];
  float residual[kWarpBlocks];  // -infinity for inadmissible rows
};

// Rows on their way from memory to the tensor cores, with what else the scan needs of them.
template <int kPairs>
struct LoadedRows {
  int32_t first = -1;  // -1: there are none; then the model's first rows stand for them
  float2 ends[kWarpBlocks] = {};
  uint32_t mask = 0;  // the word of the tile (DeviceMask)
  WarpgroupRows<kPairs> words;

  // Starts loading. warp_row: the first one of the warp.
  __device__ __forceinline__ void load(const DevicePart& part, int row_words, int32_t warp_row, int lane) {
    first = warp_row < 0 ? -1 : warp_row + lane / 4;
    const auto* const from =
        reinterpret_cast<const uint4*>(part.packed_rows) + static_cast<int64_t>(max(first, 0)) * row_words;
    words.load(from + lane % 4, from + kCoreRows * row_words + lane % 4, row_words - lane % 4);
#pragma unroll
    for (int block = 0; block < kWarpBlocks; ++block)
      ends[block] = __ldg(reinterpret_cast<const float2*>(from + (block * kCoreRows + 1) * row_words) - 1);
    mask = part.mask.words == nullptr ? ~0u : __ldg(part.mask.words + max(first, 0) / kRowsPerTile);
  }
  __device__ __forceinline__ PieceRows piece() const {
    PieceRows rows;
    rows.first = first;
#pragma unroll
    for (int block = 0; block < kWarpBlocks; ++block) {
      const bool admissible = first >= 0 && ends[block].y < INFINITY &&
                              (mask >> (first + block * kCoreRows) % kRowsPerTile & 1) != 0;
      rows.scale[block] = admissible ? ends[block].x : 0.0f;
      rows.residual[block] = admissible ? ends[block].y : -INFINITY;
    }
    return rows;
  }
};

// The warp's rows on their way to the lists: each thread keeps its own.
struct KeptRows {
  const BatchScanParams& scan;
  KeptRow* own;     // kThreads apart
  int first_query;  // of the chunk
  int count = 0;

  __device__ void write(KeptRow row) const {
    const int query = first_query + (row.sum_and_place & 0xff);
    append_row(
        scan, query,
        listed_row(scan.parameters[query].bound, row.row, static_cast<float>(row.sum_and_place >> 8),
                   __ldg(scan.part.level.scales + row.row), __ldg(scan.part.level.residuals + row.row)));
  }
  __device__ void keep(KeptRow row) {
    if (count < kKept)
      own[count++ * kThreads] = row;
    else
      write(row);
  }
  // Writes the rows of all threads at once, because each has to wait for its place in a list.
  __device__ void flush() {
    for (int i = 0; i < count; ++i) write(own[i * kThreads]);
    count = 0;
  }
};

// Returns sums.value[32 * group + index] without moving the sums to memory.
__device__ inline int choose(const WarpgroupSums<int>& sums, int group, int index) {
  int chosen[16];
#pragma unroll
  for (int i = 0; i < 16; ++i)
    chosen[i] = (index & 16) != 0 ? sums.value[32 * group + 16 + i] : sums.value[32 * group + i];
#pragma unroll
  for (int i = 0; i < 8; ++i) chosen[i] = (index & 8) != 0 ? chosen[i + 8] : chosen[i];
#pragma unroll
  for (int i = 0; i < 4; ++i) chosen[i] = (index & 4) != 0 ? chosen[i + 4] : chosen[i];
#pragma unroll
  for (int i = 0; i < 2; ++i) chosen[i] = (index & 2) != 0 ? chosen[i + 2] : chosen[i];
  return (index & 1) != 0 ? chosen[1] : chosen[0];
}

// Keeps the rows that the thresholds of half of the chunk's queries do not rule out. A sum is looked at
// through what is at least 0 if the row's upper bound reaches the threshold.
__device__ __forceinline__ void keep_rows(const WarpgroupSums<int>& sums, int half, const PieceRows& rows,
                                          const float2* bounds, int lane, KeptRows& kept) {
  const auto* const pairs = reinterpret_cast<const float4*>(bounds + half * kMatrixColumns) + lane % 4;
#pragma unroll
  for (int group = 0; group < kMatrixColumns / 64; ++group) {
    // Calls use(excess) for 32 sums.
    const auto each = [&](const auto& use) {
#pragma unroll
      for (int block = 8 * group; block < 8 * group + 8; ++block) {
        const float4 pair = pairs[4 * block];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float slope = i % 2 == 0 ? pair.x : pair.z;
          const float floor = i % 2 == 0 ? pair.y : pair.w;
          const float room = fmaf(rows.residual[i / 2], slope, floor);
          use(fmaf(static_cast<float>(sums.value[4 * block + i]), rows.scale[i / 2], room));
        }
      }
    };
    // Mostly, all are negative: the sign of `signs` says so.
    uint32_t signs = ~0u;
    each([&](float excess) { signs &= __float_as_uint(excess); });
    if (static_cast<int>(signs) < 0) continue;
    uint32_t below = 0;
    each([&](float excess) { below = __funnelshift_l(__float_as_uint(excess), below, 1); });
    for (uint32_t left = ~below; left != 0;) {
      const int index = __clz(static_cast<int>(left));
      left &= ~(0x80000000u >> index);
      const bool second = (index & 2) != 0;
      if (!((second ? rows.residual[1] : rows.residual[0]) >= 0.0f)) continue;
      const int place = half * kMatrixColumns + 64 * group + index / 4 * 8 + lane % 4 * 2 + index % 2;
      const auto sum = static_cast<uint32_t>(choose(sums, group, index));
      kept.keep({rows.first + (second ? kCoreRows : 0),
                 static_cast<int32_t>(sum << 8 | static_cast<uint32_t>(place))});
    }
  }
}

// Of 2 * kLeft values of two lanes that are kLeft apart, the lower lane keeps the first kLeft and the upper
// one the others: the larger of both lanes' values.
template <int kLeft>
__device__ __forceinline__ void share_maxima(float* values, int lane) {
  const bool upper = (lane & kLeft) != 0;
#pragma unroll
  for (int i = 0; i < kLeft; ++i) {
    const float other = __shfl_xor_sync(kFullWarp, upper ? values[i] : values[i + kLeft], kLeft);
    values[i] = fmaxf(upper ? values[i + kLeft] : values[i], other);
  }
}

// Stores the largest lower bound of the warp's rows for half of the chunk's queries. best: [4, kChunkQueries]
// in shared memory, a row for each warp.
__device__ __forceinline__ void find_best(const WarpgroupSums<int>& sums, int half, const PieceRows& rows,
                                          const float2* bounds, float* best, int warp, int lane) {
  constexpr int kLaneQueries = kMatrixColumns / 4;
  static_assert(kLaneQueries == kWarpLanes, "half of the queries is the distance between two lanes");
  const int first = half * kMatrixColumns + lane % 4 * 2;
  const float2* const own = bounds + first;
  float penalty[kWarpBlocks];
#pragma unroll
  for (int i = 0; i < kWarpBlocks; ++i) penalty[i] = rows.residual[i] >= 0.0f ? -rows.residual[i] : -INFINITY;
  float most[kLaneQueries];
#pragma unroll
  for (int i = 0; i < kLaneQueries; ++i) {
    const float slope = own[i / 2 * 8 + i % 2].x;
    most[i] = -INFINITY;
#pragma unroll
    for (int row = 0; row < kWarpBlocks; ++row)
      most[i] = fmaxf(most[i], fmaf(static_cast<float>(sums.value[i / 2 * 4 + 2 * row + i % 2]),
                                    rows.scale[row], penalty[row] * slope));
  }
  // Eight lanes have the same queries.
  share_maxima<kLaneQueries / 2>(most, lane);
  share_maxima<kLaneQueries / 4>(most, lane);
  share_maxima<kLaneQueries / 8>(most, lane);
#pragma unroll
  for (int i = 0; i < kLaneQueries / 8; ++i) {
    const int query = lane / 4 * 4 + i;
    best[warp * kChunkQueries + first + query / 2 * 8 + query % 2] = most[i];
  }
}

// Stores what the warps of a warpgroup have found. piece: the number of its rows in the sample.
__device__ __forceinline__ void write_best(const BatchScanParams& scan, const float* best, int first_query,
                                           int piece, int warp, int warpgroup, int lane) {
  warpgroup_barrier(warpgroup);
  for (int column = warp * kWarpLanes + lane; column < kChunkQueries; column += kWarpgroupThreads) {
    const int query = first_query + column;
    if (query >= scan.queries || piece >= scan.sample_groups) continue;
    const float most = fmaxf(fmaxf(best[column], best[kChunkQueries + column]),
                             fmaxf(best[2 * kChunkQueries + column], best[3 * kChunkQueries + column]));
    const QueryBound bound = scan.parameters[query].bound;
    scan.sample_best[static_cast<int64_t>(query) * scan.sample_groups + piece] =
        most * bound.inverse_scale - bound.error_offset;
  }
  warpgroup_barrier(warpgroup);
}

// Copies a chunk of queries to shared memory, with zeros after the last one. Called by the whole block.
template <bool kSample, int kPairs>
__device__ void load_chunk(const BatchScanParams& scan, BlockMemory<kPairs>& memory, int first_query) {
  constexpr int kBlockWords = kPairs * kPairWords * kCoreRows;
  const auto* const from = reinterpret_cast<const uint4*>(scan.columns) +
                           static_cast<int64_t>(first_query / kCoreRows) * kBlockWords;
  auto* const to = reinterpret_cast<uint4*>(memory.queries);
  const int words = min(kChunkQueries, scan.padded_queries - first_query) / kCoreRows * kBlockWords;
  for (int i = static_cast<int>(threadIdx.x); i < kChunkQueries / kCoreRows * kBlockWords; i += kThreads)
    to[i] = i < words ? from[i] : make_uint4(0, 0, 0, 0);
  for (int i = static_cast<int>(threadIdx.x); i < kChunkQueries; i += kThreads) {
    const float threshold =
        kSample || first_query + i >= scan.queries ? 0.0f : scan.thresholds[first_query + i];
    const ChunkQuery bound = chunk_query(scan, first_query + i, threshold);
    memory.bounds[i] = {bound.slope, bound.floor};
  }
  publish_operands();
  __syncthreads();
}

// Chunks of kChunkQueries queries are assigned to blocks in turn, so that blocks of different chunks read
// the same rows at about the same time. Each warpgroup multiplies rows of its own with the chunk's queries,
// which stay in shared memory. Rows go from memory to registers, and from there to the tensor cores: the next
// ones are on their way while a warpgroup looks at its sums.
template <bool kSample, int kPairs>
__global__ void __launch_bounds__(kThreads, 1)
    batch_wgmma_kernel(const __grid_constant__ BatchScanParams scan, int first, int last, int query_chunks) {
  extern __shared__ __align__(128) std::byte shared[];
  auto& memory = *reinterpret_cast<BlockMemory<kPairs>*>(shared);
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = __shfl_sync(kFullWarp, static_cast<int>(threadIdx.x) / kWarpLanes % 4, 0);
  const int warpgroup = __shfl_sync(kFullWarp, static_cast<int>(threadIdx.x) / kWarpgroupThreads, 0);
  const int first_query = static_cast<int>(blockIdx.x) % query_chunks * kChunkQueries;
  const int row_words = static_cast<int>(packed_row_bytes(scan.part.dims)) / kWordBytes;
  load_chunk<kSample>(scan, memory, first_query);

  const TileRounds<kSample> tiles(first, last, query_chunks, warpgroup, warp);
  const auto warp_row = [&](int round) {
    const int order = tiles.order(round);
    return order < last ? tiles.tile(scan, order) * kRowsPerTile + warp % 2 * kWarpBlocks * kCoreRows : -1;
  };
  LoadedRows<kPairs> rows;
  rows.load(scan.part, row_words, warp_row(0), lane);
  KeptRows kept = {scan, memory.kept + threadIdx.x, first_query};
  auto* const best = reinterpret_cast<float*>(memory.kept) + warpgroup * 4 * kChunkQueries;
  constexpr uint64_t kNextHalf = kMatrixColumns / kCoreRows * BlockMemory<kPairs>::kStride >> 4;
  const uint64_t queries = matrix_operand(memory.queries, BlockMemory<kPairs>::kStride);
  for (int round = 0; round < tiles.rounds; ++round) {
    rows.words.arrange();
    WarpgroupSums<int> sums[kHalves];
    for (auto& half : sums) half.begin();
    for (int half = 0; half < kHalves; ++half) {
      rows.words.multiply(sums[half], queries + static_cast<uint64_t>(half) * kNextHalf);
      sums[half].commit();
    }
    const PieceRows own = rows.piece();
    const auto look = [&](int half) {
      if constexpr (kSample)
        find_best(sums[half], half, own, memory.bounds, best, warp, lane);
      else
        keep_rows(sums[half], half, own, memory.bounds, lane, kept);
    };
    sums[0].wait<1>();
    look(0);
    sums[1].wait();
    rows.load(scan.part, row_words, warp_row(round + 1), lane);
    look(1);
    if constexpr (kSample)
      write_best(scan, best, first_query, tiles.order(round) / kTilesPerPiece, warp, warpgroup, lane);
    else if (__any_sync(kFullWarp, kept.count > kKept / 2))
      kept.flush();
  }
  if constexpr (!kSample) kept.flush();
}

template <bool kSample, int kPairs>
cudaError_t launch_pairs(const BatchScanParams& scan, int first, int last, const DeviceShape& shape,
                         cudaStream_t stream) {
  constexpr int kBytes = sizeof(BlockMemory<kPairs>);
  const int query_chunks = (scan.queries + kChunkQueries - 1) / kChunkQueries;
  const int64_t blocks = blocks_in_teams(last - first, kWarpgroups * kTilesPerPiece, query_chunks, shape);
  return launch(batch_wgmma_kernel<kSample, kPairs>, {blocks, kThreads, kBytes, kBytes}, stream, scan, first,
                last, query_chunks);
}

template <bool kSample>
cudaError_t launch_scan(const BatchScanParams& scan, int first, int last, const DeviceShape& shape,
                        cudaStream_t stream) {
  return column_pairs(scan.part.dims) == 2
             ? launch_pairs<kSample, 2>(scan, first, last, shape, stream)
             : launch_pairs<kSample, kMostPairs>(scan, first, last, shape, stream);
}

}  // namespace

bool wgmma_available() {
  cudaFuncAttributes attributes;
  const bool available =
      cudaFuncGetAttributes(&attributes, &batch_wgmma_kernel<false, kMostPairs>) == cudaSuccess;
  if (!available) static_cast<void>(cudaGetLastError());
  return available;
}

bool wgmma_fits(int64_t dims, const DeviceShape& shape) {
  return shape.wgmma && column_pairs(dims) <= kMostPairs &&
         sizeof(BlockMemory<kMostPairs>) <= static_cast<size_t>(shape.shared_limit);
}

cudaError_t launch_wgmma_sample(const BatchScanParams& scan, const DeviceShape& shape, cudaStream_t stream) {
  return launch_scan<true>(scan, 0, scan.sample_tiles, shape, stream);
}

cudaError_t launch_wgmma_lists(const BatchScanParams& scan, int32_t first, int32_t last,
                               const DeviceShape& shape, cudaStream_t stream) {
  return launch_scan<false>(scan, first, last, shape, stream);
}

}  // namespace glove::gpu
