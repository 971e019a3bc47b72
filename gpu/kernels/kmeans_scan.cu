#include <cuda_pipeline_primitives.h>

#include "gpu/kernels/kmeans.h"
#include "gpu/kernels/kmeans_ranking.cuh"
#include "gpu/kernels/kmeans_wgmma.h"
#include "gpu/kernels/launch.cuh"
#include "gpu/primitives/warp/matrix.cuh"

namespace glove::gpu {
namespace {

constexpr int kWarpRows = 32;
// Words of 16 bytes from row to row in shared memory; two rows fall into different banks.
template <int kSteps>
constexpr int kCopyStride = 2 * kSteps + (kSteps % 4 == 0 ? 4 : 8);
constexpr int kFewCentroids = 64;  // fit in shared memory beside rows of up to 320 components
constexpr int kMostStages = 6;     // pieces of centroids in shared memory

// The rows of a warp: lane l holds the number of row l.
struct WarpRows {
  int32_t id;

  // Takes elements `place`, `place` + 1, ... of what the launch scores, of which there are `count`. The last
  // one stands for those past the end.
  __device__ void load(const KMeansParams& params, int place, int count, int lane) {
    const int own = min(place + lane, count - 1);
    id = params.answer == KMeansAnswer::kLabels ? __ldg(params.fit.visits + own) : own;
  }
  // The row that is `slot` among the four that a lane sees.
  __device__ int32_t seen(int slot, int lane) const {
    return __shfl_sync(kFullWarp, id, slot * 8 + (lane >> 2));
  }
  // The row that a lane finishes, -1 if it is past the end.
  __device__ int32_t finished(int place, int count, int lane) const {
    const int in_warp = (lane & 3) * 8 + (lane >> 2);
    const int32_t row = __shfl_sync(kFullWarp, id, in_warp);
    return place + in_warp < count ? row : -1;
  }
};

// The lane's part of its warp's rows in kSteps steps of components.
template <int kSteps>
struct LaneWords {
  uint4 words[kSteps / 2][kLaneRows];

  __device__ void load(const KMeansParams& params, const WarpRows& rows, int first_word, int lane) {
    const int row_words = params.halves.row_words;
    const uint4* from[kLaneRows];
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r)
      from[r] = params.halves.words + static_cast<int64_t>(rows.seen(r, lane)) * row_words + first_word +
                (lane & 3);
#pragma unroll
    for (int i = 0; i < kSteps / 2; ++i) {
#pragma unroll
      for (int r = 0; r < kLaneRows; ++r)
        words[i][r] = first_word + i * 4 < row_words ? __ldg(from[r] + i * 4) : make_uint4(0, 0, 0, 0);
    }
  }

  // Reads rows that fetch_rows() has copied.
  __device__ void load_copies(const uint4* copies, int lane) {
#pragma unroll
    for (int i = 0; i < kSteps / 2; ++i) {
#pragma unroll
      for (int r = 0; r < kLaneRows; ++r) {
        const uint4* const from = copies + (r * 8 + (lane >> 2)) * kCopyStride<kSteps> + (lane & 3);
        words[i][r] = from[i * 4];
      }
    }
  }
};

// Starts copying the warp's rows to shared memory, where a row has kCopyStride words; those past its end stay
// what they are. Eight lanes copy a row. Called by a whole warp.
template <int kSteps>
__device__ void fetch_rows(const KMeansParams& params, const WarpRows& rows, uint4* copies, int lane) {
  constexpr int kRowLanes = 8;
  const int row_words = params.halves.row_words;
#pragma unroll
  for (int first = 0; first < kWarpRows; first += kWarpLanes / kRowLanes) {
    const int row = first + lane / kRowLanes;
    const auto id = static_cast<int64_t>(__shfl_sync(kFullWarp, rows.id, row));
    const uint4* const from = params.halves.words + id * row_words + lane % kRowLanes;
    uint4* const to = copies + row * kCopyStride<kSteps> + lane % kRowLanes;
#pragma unroll
    for (int word = 0; word < 2 * kSteps; word += kRowLanes)
      if (word + lane % kRowLanes < row_words) __pipeline_memcpy_async(to + word, from + word, sizeof(uint4));
  }
}

// The scores of the warp's rows and a chunk of centroids, times kHalfScale squared.
struct ChunkScores {
  float value[2][4][4];  // [rows 0, 8 or 16, 24 past the lane's first][block of eight centroids][d]

  __device__ void clear() { set_sums(value, 0.0f); }

  // fragments: the piece's words in shared memory.
  template <int kSteps>
  __device__ void add(const LaneWords<kSteps>& rows, const uint4* fragments, int lane) {
    uint4 next[2] = {fragments[lane], fragments[kWarpLanes + lane]};
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const uint4 b[2] = {next[0], next[1]};
      if (step + 1 < kSteps) {
        next[0] = fragments[(step + 1) * kChunkStepWords + lane];
        next[1] = fragments[(step + 1) * kChunkStepWords + kWarpLanes + lane];
      }
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const uint4& upper = rows.words[step / 2][2 * half];
          const uint4& lower = rows.words[step / 2][2 * half + 1];
          const bool even = step % 2 == 0;
          const uint32_t a0 = even ? upper.x : upper.z;
          const uint32_t a1 = even ? lower.x : lower.z;
          const uint32_t a2 = even ? upper.y : upper.w;
          const uint32_t a3 = even ? lower.y : lower.w;
          half_multiply_add(value[half][2 * pair], a0, a1, a2, a3, b[pair].x, b[pair].y);
          half_multiply_add(value[half][2 * pair + 1], a0, a1, a2, a3, b[pair].z, b[pair].w);
        }
      }
    }
  }

  // Offers the chunk's scores to the rows.
  __device__ void offer(const KMeansParams& params, int chunk, int lane, TopScores (&tops)[kLaneRows]) const {
    constexpr float kUnscale = 1 / (kHalfScale * kHalfScale);
    const uint32_t mask = ~0u << params.id_bits;
#pragma unroll
    for (int block = 0; block < 4; ++block) {
      const float2 half_squares = __ldg(reinterpret_cast<const float2*>(
          params.centroids.half_squares + chunk * kChunkCentroids + block * 8 + (lane & 3) * 2));
#pragma unroll
      for (int column = 0; column < 2; ++column) {
        const auto place = static_cast<uint32_t>(chunk * 8 + block * 2 + column);
        const float half_square = column == 0 ? half_squares.x : half_squares.y;
#pragma unroll
        for (int row = 0; row < kLaneRows; ++row) {
          const float score = fmaf(value[row / 2][block][row % 2 * 2 + column], kUnscale, -half_square);
          tops[row].insert(__uint_as_float((__float_as_uint(score) & mask) | place));
        }
      }
    }
  }
};

// Rows are in registers while they are scored: longer ones need larger blocks, which share the centroids, and
// leave room for fewer of them.
template <int kSteps>
struct Shape {
  static constexpr int kThreads = kSteps > 8 ? 256 : 128;
  static constexpr int kBlockRows = kThreads / kWarpLanes * kWarpRows;
  static constexpr int kBlocks = kSteps > 8 ? 1 : kSteps > 4 ? 3 : 4;  // per multiprocessor
  static constexpr int kPieceBytes = kSteps * kChunkStepWords * 16;
};

// The centroids in pieces that fit in shared memory: a piece is kSteps steps of one chunk. Used by a
// whole block.
template <int kSteps>
struct Pieces {
  const KMeansParams& params;
  uint4* ring;
  int stages;
  int per_chunk;
  int count;

  __device__ const uint4* words_of(int piece) const {
    return ring + piece % stages * (kSteps * kChunkStepWords);
  }
  // Starts copying a piece to its stage. A piece past the last one is nothing.
  __device__ void fetch(int piece) const {
    if (piece < count) {
      const uint4* const from =
          params.centroids.fragments + static_cast<int64_t>(piece) * (kSteps * kChunkStepWords);
      uint4* const to = ring + piece % stages * (kSteps * kChunkStepWords);
      for (int i = static_cast<int>(threadIdx.x); i < kSteps * kChunkStepWords; i += Shape<kSteps>::kThreads)
        __pipeline_memcpy_async(to + i, from + i, sizeof(uint4));
    }
    __pipeline_commit();
  }
};

// What the launch scores, and which part of it a block begins with.
struct ScanRange {
  int count;
  int start;
  int stride;

  __device__ ScanRange(const KMeansParams& params, int first, int last, int block_rows)
      // verify: range row-count
      : count(min(last, params.answer == KMeansAnswer::kLabels ? static_cast<int>(params.counters->visits)
                                                               : static_cast<int>(params.part.rows))),
        start(first + static_cast<int>(blockIdx.x) * block_rows),
        stride(static_cast<int>(gridDim.x) * block_rows) {}
};

// For any number of centroids: the warps of a block share a ring of two or more pieces in shared memory.
template <int kSteps>
__global__ void __launch_bounds__(Shape<kSteps>::kThreads, Shape<kSteps>::kBlocks)
    kmeans_many_kernel(const __grid_constant__ KMeansParams params, int first, int last, int stages) {
  extern __shared__ __align__(16) uint4 ring[];
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warp_first = static_cast<int>(threadIdx.x >> 5) * kWarpRows;
  const int per_chunk = params.steps / kSteps;
  const Pieces<kSteps> pieces = {params, ring, stages, per_chunk,
                                 params.centroids.padded / kChunkCentroids * per_chunk};
  const ScanRange range(params, first, last, Shape<kSteps>::kBlockRows);
  for (int base = range.start; base < range.count; base += range.stride) {
    for (int piece = 0; piece < stages - 1; ++piece) pieces.fetch(piece);
    WarpRows rows;
    rows.load(params, base + warp_first, range.count, lane);
    OwnRow own;
    own.load(params, rows.finished(base + warp_first, range.count, lane));
    TopScores tops[kLaneRows];
    LaneWords<kSteps> words;
    ChunkScores scores;
    scores.clear();
    for (int piece = 0; piece < pieces.count; ++piece) {
      const int part = piece % per_chunk;
      if (per_chunk > 1 || piece == 0) words.load(params, rows, part * kSteps * 2, lane);
      __pipeline_wait_prior(static_cast<size_t>(stages - 2));
      __syncthreads();
      pieces.fetch(piece + stages - 1);
      scores.add(words, pieces.words_of(piece), lane);
      if (part < per_chunk - 1) continue;
      scores.offer(params, piece / per_chunk, lane, tops);
      scores.clear();
    }
    __syncthreads();
    finish(params, LaneTops(tops, params.id_bits, lane), own);
  }
}

// For centroids that fit in shared memory at once, with kSteps steps in all: while a warp scores its rows,
// the next ones are copied to shared memory.
template <int kSteps>
__global__ void __launch_bounds__(Shape<kSteps>::kThreads, Shape<kSteps>::kBlocks)
    kmeans_few_kernel(const __grid_constant__ KMeansParams params, int first, int last) {
  extern __shared__ __align__(16) uint4 shared[];
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warp_first = static_cast<int>(threadIdx.x >> 5) * kWarpRows;
  const int chunks = params.centroids.padded / kChunkCentroids;
  uint4* const copies = shared + warp_first * kCopyStride<kSteps>;
  const Pieces<kSteps> pieces = {params, shared + Shape<kSteps>::kBlockRows * kCopyStride<kSteps>, chunks, 1,
                                 chunks};
  const ScanRange range(params, first, last, Shape<kSteps>::kBlockRows);
  if (range.start >= range.count) return;
  for (int piece = 0; piece < chunks; ++piece) pieces.fetch(piece);
  for (int i = lane; i < kWarpRows * kCopyStride<kSteps>; i += kWarpLanes) copies[i] = make_uint4(0, 0, 0, 0);
  __syncwarp();
  WarpRows rows;
  rows.load(params, range.start + warp_first, range.count, lane);
  fetch_rows<kSteps>(params, rows, copies, lane);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int base = range.start; base < range.count; base += range.stride) {
    WarpRows next;
    next.load(params, base + range.stride + warp_first, range.count, lane);
    OwnRow own;
    own.load(params, rows.finished(base + warp_first, range.count, lane));
    LaneWords<kSteps> words;
    __pipeline_wait_prior(0);
    __syncwarp();
    words.load_copies(copies, lane);
    __syncwarp();
    if (base + range.stride < range.count) fetch_rows<kSteps>(params, next, copies, lane);
    __pipeline_commit();
    rows = next;
    TopScores tops[kLaneRows];
    for (int chunk = 0; chunk < chunks; ++chunk) {
      ChunkScores scores;
      scores.clear();
      scores.add(words, pieces.words_of(chunk), lane);
      scores.offer(params, chunk, lane, tops);
    }
    finish(params, LaneTops(tops, params.id_bits, lane), own);
  }
}

// Blocks of a kernel that uses `bytes` of shared memory, as many as are useful and run at once.
template <int kSteps>
int64_t block_count(int32_t rows, int bytes, const DeviceShape& shape) {
  const int fitting = (shape.shared_limit + 1024) / (bytes + 1024);
  const int resident = fitting < Shape<kSteps>::kBlocks ? fitting : Shape<kSteps>::kBlocks;
  const int useful = (rows + Shape<kSteps>::kBlockRows - 1) / Shape<kSteps>::kBlockRows;
  const int most = shape.multiprocessors * resident;
  return useful < most ? useful : most;
}

template <int kSteps>
cudaError_t launch_many(const KMeansParams& params, int32_t first, int32_t last, const DeviceShape& shape,
                        cudaStream_t stream) {
  using Kernel = Shape<kSteps>;
  const int room = shape.shared_limit / Kernel::kBlocks - 1024;
  const int shared = room >= 2 * Kernel::kPieceBytes ? room : shape.shared_limit;
  const int fitting = shared / Kernel::kPieceBytes;
  if (fitting < 2) return cudaErrorInvalidConfiguration;
  const int stages = fitting < kMostStages ? fitting : kMostStages;
  const int bytes = stages * Kernel::kPieceBytes;
  return launch(
      kmeans_many_kernel<kSteps>,
      {block_count<kSteps>(last - first, bytes, shape), Kernel::kThreads, bytes, shape.shared_limit}, stream,
      params, first, last, stages);
}

template <int kSteps>
cudaError_t launch_few(const KMeansParams& params, int32_t first, int32_t last, const DeviceShape& shape,
                       cudaStream_t stream) {
  using Kernel = Shape<kSteps>;
  const int copies = Kernel::kBlockRows * kCopyStride<kSteps> * 16;
  const int chunks = params.centroids.padded / kChunkCentroids;
  if (params.steps != kSteps || params.centroids.padded > kFewCentroids ||
      chunks > (shape.shared_limit - copies) / Kernel::kPieceBytes)
    return launch_many<kSteps>(params, first, last, shape, stream);
  const int bytes = copies + chunks * Kernel::kPieceBytes;
  return launch(
      kmeans_few_kernel<kSteps>,
      {block_count<kSteps>(last - first, bytes, shape), Kernel::kThreads, bytes, shape.shared_limit}, stream,
      params, first, last);
}

}  // namespace

cudaError_t launch_kmeans_scan(const KMeansParams& params, int32_t first, int32_t last,
                               const DeviceShape& shape, cudaStream_t stream) {
  if (params.wgmma.columns != nullptr) return launch_kmeans_wgmma(params, first, last, shape, stream);
  switch (params.steps) {
    case 4:
      return launch_few<4>(params, first, last, shape, stream);
    case 8:
      return launch_few<8>(params, first, last, shape, stream);
    case 14:
      return launch_few<14>(params, first, last, shape, stream);
    default:
      return launch_few<kMostSteps>(params, first, last, shape, stream);
  }
}

}  // namespace glove::gpu
