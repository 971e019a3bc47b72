#include "gpu/kernels/batch_wgmma.h"

#include <cuda_pipeline_primitives.h>

#include "gpu/kernels/batch_bounds.cuh"
#include "gpu/packed_rows.h"
#include "gpu/query_codes.h"
#include "gpu/tile.h"
#include "gpu/warp/reduce.cuh"
#include "gpu/warpgroup/matrix.cuh"

namespace glove::gpu {
namespace {

// While one warpgroup looks at its sums, the others keep the tensor cores busy.
constexpr int kWarpgroups = 3;
constexpr int kThreads = kWarpgroups * kWarpgroupThreads;
constexpr int kStages = 2;  // pieces of kMatrixRows rows that a warpgroup has in shared memory
constexpr int kKept = 8;    // rows that a thread keeps until its warp writes all of its rows to the lists
constexpr int kTilesPerPiece = kMatrixRows / kRowsPerTile;
constexpr int kWarpBlocks = 2;  // blocks of kCoreRows rows per warp
constexpr int kLoadLanes = kWarpLanes / kCoreRows;
static_assert(kMatrixRows == 4 * kWarpBlocks * kCoreRows && kRowsPerTile == 2 * kWarpBlocks * kCoreRows,
              "the first two warps of a warpgroup have one tile and the others the next");

// A row that a query's threshold does not rule out: the sum and, in the low eight bits, the place of the
// query.
struct KeptRow {
  int32_t row;
  int32_t sum_and_place;
};

// The shared memory of a block.
struct BlockMemory {
  int stride;  // bytes of eight rows or queries
  std::byte* queries;
  ChunkQuery* bounds;  // [kMatrixColumns]
  KeptRow* kept;       // [kKept, kThreads]
  std::byte* pieces;   // [kWarpgroups, kStages, kMatrixRows / kCoreRows * stride]

  __device__ BlockMemory(std::byte* shared, int depths)
      : stride(depths * (kMatrixDepth / kCoreDepth) * kCoreBytes),
        queries(shared),
        bounds(reinterpret_cast<ChunkQuery*>(queries + kMatrixColumns / kCoreRows * stride)),
        kept(reinterpret_cast<KeptRow*>(bounds + kMatrixColumns)),
        pieces(reinterpret_cast<std::byte*>(kept + kKept * kThreads)) {}

  __device__ std::byte* piece(int warpgroup, int stage) const {
    return pieces + (warpgroup * kStages + stage) * (kMatrixRows / kCoreRows) * stride;
  }
};

constexpr int shared_bytes(int64_t depths) {
  const auto row_bytes = static_cast<int>(depths) * kMatrixDepth;
  return (kMatrixColumns + kWarpgroups * kStages * kMatrixRows) * row_bytes +
         kMatrixColumns * static_cast<int>(sizeof(ChunkQuery)) +
         kKept * kThreads * static_cast<int>(sizeof(KeptRow));
}

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

  // codes: the warp's blocks in shared memory.
  __device__ void load(const std::byte* codes, int stride, int row_words, int32_t warp_row, int lane) {
    first = warp_row + lane / 4;
#pragma unroll
    for (int block = 0; block < kWarpBlocks; ++block) {
      const auto end = *reinterpret_cast<const float2*>(
          codes + block * stride + (row_words - 1) * kCoreBytes + lane / 4 * kCoreDepth + 8);
      const bool admissible = end.y < INFINITY && warp_row >= 0;
      scale[block] = admissible ? end.x : 0.0f;
      residual[block] = admissible ? end.y : -INFINITY;
    }
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
__device__ inline int choose(const WarpgroupSums& sums, int group, int index) {
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

// Keeps the rows that the queries' thresholds do not rule out. 32 scores at a time leave a bit each: the sign
// of what is at least 0 if the row's upper bound reaches the threshold.
__device__ __forceinline__ void keep_rows(const WarpgroupSums& sums, const PieceRows& rows,
                                          const ChunkQuery* bounds, int lane, KeptRows& kept) {
  const auto* const pairs = reinterpret_cast<const float4*>(bounds) + lane % 4;
#pragma unroll
  for (int group = 0; group < kMatrixColumns / 64; ++group) {
    uint32_t below = 0;
#pragma unroll
    for (int block = 8 * group; block < 8 * group + 8; ++block) {
      const float4 pair = pairs[4 * block];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float slope = i % 2 == 0 ? pair.x : pair.z;
        const float floor = i % 2 == 0 ? pair.y : pair.w;
        const float room = fmaf(rows.residual[i / 2], slope, floor);
        const float excess = fmaf(static_cast<float>(sums.value[4 * block + i]), rows.scale[i / 2], room);
        below = __funnelshift_l(__float_as_uint(excess), below, 1);
      }
    }
    for (uint32_t left = ~below; left != 0;) {
      const int index = __clz(static_cast<int>(left));
      left &= ~(0x80000000u >> index);
      const bool second = (index & 2) != 0;
      if (!((second ? rows.residual[1] : rows.residual[0]) >= 0.0f)) continue;
      const int place = 64 * group + index / 4 * 8 + lane % 4 * 2 + index % 2;
      const auto sum = static_cast<uint32_t>(choose(sums, group, index));
      kept.keep({rows.first + (second ? kCoreRows : 0),
                 static_cast<int32_t>(sum << 8 | static_cast<uint32_t>(place))});
    }
  }
  if (__any_sync(kFullWarp, kept.count > kKept / 2)) kept.flush();
}

// Stores the largest lower bound of the warp's rows for each query. `group`: the number of these rows in the
// sample.
__device__ __forceinline__ void keep_best(const BatchScanParams& scan, const WarpgroupSums& sums,
                                          const PieceRows& rows, int first_query, int64_t group, int lane) {
#pragma unroll
  for (int block = 0; block < kMatrixColumns / 8; ++block) {
#pragma unroll
    for (int column = 0; column < 2; ++column) {
      const int query = first_query + 8 * block + lane % 4 * 2 + column;
      const QueryBound bound = query < scan.queries ? scan.parameters[query].bound : QueryBound{};
      float best = -INFINITY;
#pragma unroll
      for (int row = 0; row < kWarpBlocks; ++row) {
        const auto sum = static_cast<float>(sums.value[4 * block + 2 * row + column]);
        const float lower = bound.estimate(sum, rows.scale[row]) - bound.error(rows.residual[row]);
        if (rows.residual[row] >= 0.0f) best = fmaxf(best, lower);
      }
      best = fmaxf(best, __shfl_xor_sync(kFullWarp, best, 4));
      best = fmaxf(best, __shfl_xor_sync(kFullWarp, best, 8));
      best = fmaxf(best, __shfl_xor_sync(kFullWarp, best, 16));
      if (lane < 4 && query < scan.queries)
        scan.sample_best[static_cast<int64_t>(query) * scan.sample_groups + group] = best;
    }
  }
}

// Copies a chunk of queries to shared memory, with zeros after the last one. Called by the whole block.
template <bool kSample>
__device__ void load_chunk(const BatchScanParams& scan, const BlockMemory& memory, int first_query) {
  const int block_words = memory.stride / 16;
  const auto* const from = reinterpret_cast<const uint4*>(scan.columns) +
                           static_cast<int64_t>(first_query / kCoreRows) * block_words;
  auto* const to = reinterpret_cast<uint4*>(memory.queries);
  const int words = min(kMatrixColumns, scan.padded_queries - first_query) / kCoreRows * block_words;
  for (int i = static_cast<int>(threadIdx.x); i < kMatrixColumns / kCoreRows * block_words; i += kThreads)
    to[i] = i < words ? from[i] : make_uint4(0, 0, 0, 0);
  if constexpr (!kSample)
    for (int i = static_cast<int>(threadIdx.x); i < kMatrixColumns; i += kThreads)
      memory.bounds[i] = chunk_query(scan, first_query + i);
  publish_operands();
  __syncthreads();
}

// Starts copying the warp's rows of a piece. Eight lanes copy 16 bytes of eight rows, which are a core
// matrix.
__device__ void fetch(const BatchScanParams& scan, int64_t warp_row, std::byte* piece, int stride,
                      int row_words, int warp, int lane) {
#pragma unroll
  for (int block = 0; block < kWarpBlocks; ++block) {
    const int64_t row = warp_row + block * kCoreRows + lane % kCoreRows;
    const std::byte* from = scan.part.packed_rows + (row * row_words + lane / kCoreRows) * kCoreDepth;
    std::byte* to = piece + (warp * kWarpBlocks + block) * stride + lane * kCoreDepth;
    for (int word = lane / kCoreRows; word < row_words; word += kLoadLanes) {
      __pipeline_memcpy_async(to, from, kCoreDepth);
      from += kLoadLanes * kCoreDepth;
      to += kLoadLanes * kCoreBytes;
    }
  }
}

// Chunks of kMatrixColumns queries are assigned to blocks in turn, so that blocks of different chunks read
// the same rows at about the same time. Each warpgroup multiplies rows of its own with the chunk's queries,
// which stay in shared memory.
template <bool kSample>
__global__ void __launch_bounds__(kThreads, 1)
    batch_wgmma_kernel(const __grid_constant__ BatchScanParams scan, int first, int last, int query_chunks,
                       int depths) {
  extern __shared__ __align__(128) std::byte shared[];
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = __shfl_sync(kFullWarp, static_cast<int>(threadIdx.x) / kWarpLanes % 4, 0);
  const int warpgroup = __shfl_sync(kFullWarp, static_cast<int>(threadIdx.x) / kWarpgroupThreads, 0);
  const int first_query = static_cast<int>(blockIdx.x) % query_chunks * kMatrixColumns;
  const int row_words = static_cast<int>(packed_row_bytes(scan.part.dims)) / kCoreDepth;
  const BlockMemory memory(shared, depths);
  load_chunk<kSample>(scan, memory, first_query);

  const TileRounds<kSample> tiles(first, last, query_chunks, warpgroup, warp);
  const auto warp_row = [&](int round) {
    const int order = tiles.order(round);
    return order < last ? tiles.tile(scan, order) * kRowsPerTile + warp % 2 * kWarpBlocks * kCoreRows : -1;
  };
  const auto fetch_round = [&](int round) {
    if (const int row = warp_row(round); row >= 0)
      fetch(scan, row, memory.piece(warpgroup, round % kStages), memory.stride, row_words, warp, lane);
    __pipeline_commit();
  };
  for (int round = 0; round < kStages - 1; ++round) fetch_round(round);
  KeptRows kept = {scan, memory.kept + threadIdx.x, first_query};
  const uint64_t queries = matrix_operand(memory.queries, memory.stride);
  for (int round = 0; round < tiles.rounds; ++round) {
    const std::byte* const piece = memory.piece(warpgroup, round % kStages);
    __pipeline_wait_prior(kStages - 2);
    publish_operands();
    warpgroup_barrier(warpgroup);
    WarpgroupSums sums;
    sums.begin();
    const uint64_t rows = matrix_operand(piece, memory.stride);
#pragma unroll 1
    for (int depth = 0; depth < depths; ++depth)
      sums.add(rows + static_cast<uint64_t>(depth) * kNextDepth,
               queries + static_cast<uint64_t>(depth) * kNextDepth, depth == 0);
    sums.commit();
    fetch_round(round + kStages - 1);
    sums.wait();
    PieceRows own;
    const int row = warp_row(round);
    own.load(piece + warp * kWarpBlocks * memory.stride, memory.stride, row_words, row, lane);
    if constexpr (!kSample)
      keep_rows(sums, own, memory.bounds, lane, kept);
    else if (row >= 0)
      keep_best(scan, sums, own, first_query, 2 * tiles.order(round) + warp % 2, lane);
  }
  if constexpr (!kSample) kept.flush();
}

template <bool kSample>
cudaError_t launch(const BatchScanParams& scan, int first, int last, const BatchShape& shape,
                   cudaStream_t stream) {
  const auto depths = static_cast<int>(column_depths(scan.part.dims));
  const int bytes = shared_bytes(depths);
  const auto kernel = &batch_wgmma_kernel<kSample>;
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) return error;
  const int query_chunks = (scan.queries + kMatrixColumns - 1) / kMatrixColumns;
  const int useful = (last - first + kWarpgroups * kTilesPerPiece - 1) / (kWarpgroups * kTilesPerPiece);
  const int fitting = shape.multiprocessors / query_chunks;
  const int teams = fitting < 1 ? 1 : fitting < useful ? fitting : useful;
  kernel<<<static_cast<unsigned>(teams * query_chunks), kThreads, static_cast<size_t>(bytes), stream>>>(
      scan, first, last, query_chunks, depths);
  return cudaGetLastError();
}

}  // namespace

bool wgmma_available() {
  cudaFuncAttributes attributes;
  const bool available = cudaFuncGetAttributes(&attributes, &batch_wgmma_kernel<false>) == cudaSuccess;
  if (!available) static_cast<void>(cudaGetLastError());
  return available;
}

bool wgmma_fits(int64_t dims, const BatchShape& shape) {
  return shape.wgmma && shared_bytes(column_depths(dims)) <= shape.shared_limit;
}

cudaError_t launch_wgmma_sample(const BatchScanParams& scan, const BatchShape& shape, cudaStream_t stream) {
  return launch<true>(scan, 0, scan.sample_tiles, shape, stream);
}

cudaError_t launch_wgmma_lists(const BatchScanParams& scan, int32_t first, int32_t last,
                               const BatchShape& shape, cudaStream_t stream) {
  return launch<false>(scan, first, last, shape, stream);
}

}  // namespace glove::gpu
