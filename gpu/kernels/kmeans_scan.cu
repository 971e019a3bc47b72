#include <cuda_pipeline_primitives.h>

#include "gpu/kernels/kmeans.h"
#include "gpu/kernels/kmeans_changes.cuh"
#include "gpu/warp/half_matrix.cuh"

namespace glove::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpLanes;
constexpr int kWarpRows = 32;
constexpr int kBlockRows = kWarps * kWarpRows;
constexpr int kLaneRows = 4;           // lane l sees rows l/4, l/4 + 8, l/4 + 16 and l/4 + 24 of its warp's
constexpr int kMostStages = 6;         // pieces of centroids in shared memory
constexpr float kGapSlack = 0x1p-20f;  // as in cpu/cluster_kernels.h
constexpr float kLeastGap = 0x1p-16f;  // as in cpu/bounded_pass.cpp
constexpr float kLimitSlack = 0x1p-20f;

// The three highest scores of one row among the centroids that a lane sees. The low bits of a score are the
// place of its centroid.
struct TopScores {
  float first = -INFINITY;
  float second = -INFINITY;
  float third = -INFINITY;

  __device__ void insert(float score) {
    const float below_first = fminf(first, score);
    first = fmaxf(first, score);
    const float below_second = fminf(second, below_first);
    second = fmaxf(second, below_first);
    third = fmaxf(third, below_second);
  }
};

// The same with the centroids' numbers.
struct TopClusters {
  float first, second, third;
  int32_t first_cluster, second_cluster;

  __device__ void insert(float score, int32_t cluster) {
    if (score > first) {
      third = second;
      second = first;
      second_cluster = first_cluster;
      first = score;
      first_cluster = cluster;
    } else if (score > second) {
      third = second;
      second = score;
      second_cluster = cluster;
    } else {
      third = fmaxf(third, score);
    }
  }
};

// The lane's part of its warp's rows in up to kSteps steps of components.
template <int kSteps>
struct LaneWords {
  uint4 words[kSteps / 2][kLaneRows];

  __device__ void load(const KMeansParams& params, const int32_t (&rows)[kLaneRows], int first_word,
                       int lane) {
    const int row_words = params.halves.row_words;
#pragma unroll
    for (int i = 0; i < kSteps / 2; ++i) {
      const int word = first_word + i * 4;
      if (word < row_words) {
#pragma unroll
        for (int r = 0; r < kLaneRows; ++r)
          words[i][r] =
              __ldg(params.halves.words + static_cast<int64_t>(rows[r]) * row_words + word + (lane & 3));
      }
    }
  }
};

// The scores of the warp's rows and a chunk of centroids, times kHalfScale squared.
struct ChunkScores {
  float value[2][4][4];  // [rows 0, 8 or 16, 24 past the lane's first][block of eight centroids][d]

  __device__ void clear() {
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int block = 0; block < 4; ++block)
#pragma unroll
        for (int i = 0; i < 4; ++i) value[half][block][i] = 0.0f;
  }

  // fragments: the piece's words in shared memory.
  template <int kSteps>
  __device__ void add(const LaneWords<kSteps>& rows, const uint4* fragments, int steps, int lane) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step >= steps) continue;
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const uint4 b = fragments[step * kChunkStepWords + pair * kWarpLanes + lane];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const uint4& upper = rows.words[step / 2][2 * half];
          const uint4& lower = rows.words[step / 2][2 * half + 1];
          const bool even = step % 2 == 0;
          const uint32_t a0 = even ? upper.x : upper.z;
          const uint32_t a1 = even ? lower.x : lower.z;
          const uint32_t a2 = even ? upper.y : upper.w;
          const uint32_t a3 = even ? lower.y : lower.w;
          half_multiply_add(value[half][2 * pair], a0, a1, a2, a3, b.x, b.y);
          half_multiply_add(value[half][2 * pair + 1], a0, a1, a2, a3, b.z, b.w);
        }
      }
    }
  }

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

// Combines what the four lanes that share rows have seen. Lane l gets row l/4 + 8 * (l mod 4) of its warp's.
__device__ TopClusters combine(const KMeansParams& params, const TopScores (&tops)[kLaneRows], int lane) {
  TopClusters own = {};
#pragma unroll
  for (int row = 0; row < kLaneRows; ++row) {
    const auto cluster_of = [&](float score) {
      const int place = static_cast<int>(__float_as_uint(score) & ~(~0u << params.id_bits));
      return place / 8 * kChunkCentroids + place / 2 % 4 * 8 + (lane & 3) * 2 + place % 2;
    };
    TopClusters top = {tops[row].first, tops[row].second, tops[row].third, cluster_of(tops[row].first),
                       cluster_of(tops[row].second)};
#pragma unroll
    for (int distance = 1; distance <= 2; distance *= 2) {
      const float first = __shfl_xor_sync(kFullWarp, top.first, distance);
      const float second = __shfl_xor_sync(kFullWarp, top.second, distance);
      const float third = __shfl_xor_sync(kFullWarp, top.third, distance);
      const int32_t first_cluster = __shfl_xor_sync(kFullWarp, top.first_cluster, distance);
      const int32_t second_cluster = __shfl_xor_sync(kFullWarp, top.second_cluster, distance);
      top.insert(first, first_cluster);
      top.insert(second, second_cluster);
      top.third = fmaxf(top.third, third);
    }
    if ((lane & 3) == row) own = top;
  }
  return own;
}

// At least how far a score of the row, as it was compared, is from the true one.
__device__ float score_error(const KMeansParams& params, float length, float residual) {
  const ScoreBound bound = *params.centroids.bound;
  const float row = length + residual;
  const float centroid = bound.longest + bound.residual;
  const float sums = static_cast<float>(params.steps * kHalfStep + 32) * 0x1p-22f;
  const float places = __int2float_rn(1 << params.id_bits) * 0x1p-23f;
  const float error = residual * bound.longest + row * bound.residual + row * centroid * sums +
                      (row * centroid + centroid * centroid / 2) * places +
                      (row * row + centroid * centroid) * 0x1p-21f + 0x1p-40f;
  return error * (1 + 0x1p-10f);
}

// Writes what the scores say of the lane's row, or lists it as undecided. Called by a whole warp; row: -1 if
// the lane has none.
__device__ void finish(const KMeansParams& params, const TopClusters& top, int32_t row) {
  const bool exists = row >= 0;
  const float length = exists ? params.halves.lengths[row] : 0.0f;
  const float error = score_error(params, length, exists ? params.halves.residuals[row] : 0.0f);
  bool decided = false;
  bool takes_part = exists;
  int32_t from = -1;
  if (params.wanted == 1) {
    // With the squared distances |x|^2 - 2 * score, the difference of the distances is the difference of the
    // squares divided by their sum.
    const float square = fmaf(length, length, 2 * error);
    const float numerator = (top.first - top.second) * (1 - kGapSlack) - 2 * error;
    const float nearest = fmaxf(0.0f, fmaf(-2.0f, top.first, square));
    const float next = fmaxf(0.0f, fmaf(-2.0f, top.second, square));
    const float gap = 2 * numerator / ((sqrtf(nearest) + sqrtf(next)) * (1 + kGapSlack));
    decided = exists && gap > 0;
    if (exists) {
      from = params.labels[row];
      float limit = -INFINITY;
      if (decided) {
        const double reach = static_cast<double>(gap) - kLeastGap + params.travelled[top.first_cluster + 1];
        limit = __double2float_rn(reach * (1 - static_cast<double>(kLimitSlack)));
      }
      params.limits[row] = limit;
    }
    list_change(params, row, from, top.first_cluster, decided && from != top.first_cluster);
  } else if (exists && params.metric == Metric::kCosine && !(params.part.norms_squared[row] > 0)) {
    params.nearest[row] = {-1, -1, -INFINITY, -INFINITY};
    takes_part = false;
  }
  const float beaten = (params.wanted == 1 ? top.first : top.second) - 2 * error;
  const bool one_of_two = top.third < beaten;
  const bool undecided = takes_part && !decided;
  const uint32_t place = append(&params.counters->undecided, undecided && one_of_two);
  if (undecided && one_of_two) params.undecided[place] = {row, top.first_cluster, top.second_cluster};
  const uint32_t open_place = append(&params.counters->open, undecided && !one_of_two);
  if (undecided && !one_of_two) params.open[open_place] = row;
}

// The centroids in pieces that fit in shared memory: a piece is up to kSteps steps of one chunk. Used by a
// whole block.
template <int kSteps>
struct Pieces {
  const KMeansParams& params;
  uint4* ring;
  int stages;
  int per_chunk;
  int count;

  __device__ int steps_of(int piece) const { return min(kSteps, params.steps - piece % per_chunk * kSteps); }
  __device__ const uint4* words_of(int piece) const {
    return ring + piece % stages * (kSteps * kChunkStepWords);
  }
  // Starts copying a piece to its stage. A piece past the last one is nothing.
  __device__ void fetch(int piece) const {
    if (piece < count) {
      const uint4* const from =
          params.centroids.fragments +
          (static_cast<int64_t>(piece / per_chunk) * params.steps + piece % per_chunk * kSteps) *
              kChunkStepWords;
      uint4* const to = ring + piece % stages * (kSteps * kChunkStepWords);
      for (int i = static_cast<int>(threadIdx.x); i < steps_of(piece) * kChunkStepWords; i += kThreads)
        __pipeline_memcpy_async(to + i, from + i, sizeof(uint4));
    }
    __pipeline_commit();
  }
};

// A warp per 32 rows. The warps of a block share the centroids in shared memory: all of them, or a ring of
// two or more pieces.
template <int kSteps>
__global__ void __launch_bounds__(kThreads, kSteps > 8 ? 1 : 2)
    kmeans_scan_kernel(const __grid_constant__ KMeansParams params, int first, int last, int stages) {
  extern __shared__ __align__(16) uint4 ring[];
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int per_chunk = (params.steps + kSteps - 1) / kSteps;
  const Pieces<kSteps> pieces = {params, ring, stages, per_chunk,
                                 params.centroids.padded / kChunkCentroids * per_chunk};
  const bool all_fit = pieces.count <= stages;
  const int count = params.wanted == 1 ? min(last, static_cast<int>(params.counters->visits))
                                       : min(last, static_cast<int>(params.part.rows));
  const int start = first + static_cast<int>(blockIdx.x) * kBlockRows;
  if (start >= count) return;
  if (all_fit) {
    for (int piece = 0; piece < pieces.count; ++piece) pieces.fetch(piece);
    __pipeline_wait_prior(0);
    __syncthreads();
  }
  for (int base = start; base < count; base += static_cast<int>(gridDim.x) * kBlockRows) {
    int32_t rows[kLaneRows];
#pragma unroll
    for (int i = 0; i < kLaneRows; ++i) {
      const int place = min(base + warp * kWarpRows + i * 8 + (lane >> 2), count - 1);
      rows[i] = params.wanted == 1 ? params.visits[place] : place;
    }
    if (!all_fit)
      for (int piece = 0; piece < stages - 1; ++piece) pieces.fetch(piece);
    TopScores tops[kLaneRows];
    LaneWords<kSteps> block;
    ChunkScores scores;
    scores.clear();
    for (int piece = 0; piece < pieces.count; ++piece) {
      const int part = piece % per_chunk;
      if (per_chunk > 1 || piece == 0) block.load(params, rows, part * (kSteps / 2) * 4, lane);
      if (!all_fit) {
        __pipeline_wait_prior(static_cast<size_t>(stages - 2));
        __syncthreads();
        pieces.fetch(piece + stages - 1);
      }
      scores.add(block, pieces.words_of(piece), pieces.steps_of(piece), lane);
      if (part == per_chunk - 1) {
        scores.offer(params, piece / per_chunk, lane, tops);
        scores.clear();
      }
    }
    if (!all_fit) __syncthreads();
    const TopClusters top = combine(params, tops, lane);
    const int place = base + warp * kWarpRows + (lane & 3) * 8 + (lane >> 2);
    int32_t row = -1;
#pragma unroll
    for (int i = 0; i < kLaneRows; ++i)
      if ((lane & 3) == i && place < count) row = rows[i];
    finish(params, top, row);
  }
}

template <int kSteps>
cudaError_t launch(const KMeansParams& params, int32_t first, int32_t last, const BatchShape& shape,
                   cudaStream_t stream) {
  constexpr int kPieceBytes = kSteps * kChunkStepWords * 16;
  const int blocks_per_multiprocessor = kSteps > 8 ? 1 : 2;
  const int pieces = params.centroids.padded / kChunkCentroids * ((params.steps + kSteps - 1) / kSteps);
  const int fitting = shape.shared_limit / blocks_per_multiprocessor / kPieceBytes;
  int stages = fitting < kMostStages ? fitting : kMostStages;
  if (pieces <= fitting) stages = pieces;
  if (stages < 2 && pieces > stages) return cudaErrorInvalidConfiguration;
  const auto kernel = &kmeans_scan_kernel<kSteps>;
  const int bytes = stages * kPieceBytes;
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) return error;
  const int useful = (last - first + kBlockRows - 1) / kBlockRows;
  const int most = shape.multiprocessors * blocks_per_multiprocessor;
  kernel<<<static_cast<unsigned>(useful < most ? useful : most), kThreads, static_cast<size_t>(bytes),
           stream>>>(params, first, last, stages);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_kmeans_scan(const KMeansParams& params, int32_t first, int32_t last,
                               const BatchShape& shape, cudaStream_t stream) {
  if (params.steps <= 4) return launch<4>(params, first, last, shape, stream);
  if (params.steps <= 8) return launch<8>(params, first, last, shape, stream);
  return launch<20>(params, first, last, shape, stream);
}

}  // namespace glove::gpu
