#include "gpu/kernels/kmeans_wgmma.h"

#include "gpu/kernels/kmeans_halves.cuh"
#include "gpu/kernels/kmeans_ranking.cuh"
#include "gpu/kernels/launch.cuh"
#include "gpu/layout/tile.h"
#include "gpu/primitives/warp/reduce.cuh"
#include "gpu/primitives/warpgroup/matrix.cuh"

namespace glove::gpu {
namespace {

constexpr int kHalves =
    2;  // of a chunk: a warpgroup ranks one while the tensor cores multiply with the other
static_assert(kWgmmaCentroids == kHalves * kMatrixColumns);
constexpr int kWarpgroups = 2;
constexpr int kThreads = kWarpgroups * kWarpgroupThreads;
constexpr int kWarpBlocks = 2;  // blocks of kCoreRows rows per warp
constexpr int kMostPairs = 10;  // of multiplications: more rows do not fit in registers
constexpr int kPlaceBits = 8;   // low bits of a score that hold the place of its centroid in the chunk
constexpr int kMergeThreads = 256;
constexpr int kFewCentroids = 64;
constexpr int kMostCentroids = 4096;

// Pairs of multiplications of the kernel for rows of `row_words` words: one of the numbers for which there
// are kernels. The components past the row's are zero.
constexpr int multiplied_pairs(int row_words) {
  for (const int pairs : {2, 4, 7})
    if (row_words <= pairs * kPairWords) return pairs;
  return kMostPairs;
}

constexpr int shared_bytes(int pairs) {
  return kWgmmaCentroids * (pairs * kPairWords * kWordBytes + static_cast<int>(sizeof(float)));
}

// Returns the number of rows that the launch scores.
__device__ int row_count(const KMeansParams& params, int last) {
  // verify: range row-count
  return min(last, params.answer == KMeansAnswer::kLabels ? static_cast<int>(params.counters->visits)
                                                          : static_cast<int>(params.part.rows));
}

// Brings the centroids into the order of core matrices: [padded / 8, words of a row, 8] words. A lane has
// eight components of a row in a word, the first four for the first multiplication of a pair (row_place); of
// each four, the two halves are four bytes apart in core matrices. A thread per word.
__global__ void __launch_bounds__(kMergeThreads)
    kmeans_columns_kernel(const __grid_constant__ KMeansParams params, int words, int row_words) {
  const int i = static_cast<int>(blockIdx.x * kMergeThreads + threadIdx.x);
  if (i >= words) return;
  const int cluster = i / kCoreRows / row_words * kCoreRows + i % kCoreRows;
  const int word = i / kCoreRows % row_words;
  uint32_t components[4] = {};  // two in each
  if (cluster < params.centroids.padded && word < params.halves.row_words) {
    const auto* const fragments = reinterpret_cast<const __half*>(params.centroids.fragments);
#pragma unroll
    for (int lane = 0; lane < 4; ++lane)
      components[lane] = *reinterpret_cast<const uint32_t*>(
          fragments + centroid_place(cluster, word / 2 * kHalfStep + 4 * lane + word % 2 * 2, params.steps));
  }
  params.wgmma.columns[i] = make_uint4(components[0], components[1], components[2], components[3]);
}

// The best scores of a row among those that a lane or, together, four lanes have seen. Scores are compared in
// groups, of which only the best one is ranked.
struct GroupTops {
  float named[3] = {-INFINITY, -INFINITY, -INFINITY};  // the highest of their groups
  float rest = -INFINITY;                              // bounds those of the other groups
  float hidden = -INFINITY;  // bounds scores that are not the highest of their groups

  __device__ __forceinline__ void insert(float score) {
#pragma unroll
    for (float& better : named) {
      const float below = fminf(better, score);
      better = fmaxf(better, score);
      score = below;
    }
    rest = fmaxf(rest, score);
  }
  __device__ __forceinline__ void insert(const float (&scores)[kGroupClusters]) {
    float high[kGroupClusters / 2];
#pragma unroll
    for (int i = 0; i < kGroupClusters / 2; ++i) {
      high[i] = fmaxf(scores[2 * i], scores[2 * i + 1]);
      hidden = fmaxf(hidden, fminf(scores[2 * i], scores[2 * i + 1]));
    }
    const float left = fmaxf(high[0], high[1]);
    const float right = fmaxf(high[2], high[3]);
    hidden = fmaxf(hidden, fmaxf(fminf(high[0], high[1]), fminf(high[2], high[3])));
    hidden = fmaxf(hidden, fminf(left, right));
    insert(fmaxf(left, right));
  }
  // Adds what the lane at this distance has seen.
  __device__ __forceinline__ void combine(int distance) {
    float other[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) other[i] = __shfl_xor_sync(kFullWarp, named[i], distance);
    rest = fmaxf(rest, __shfl_xor_sync(kFullWarp, rest, distance));
    hidden = fmaxf(hidden, __shfl_xor_sync(kFullWarp, hidden, distance));
#pragma unroll
    for (const float score : other) insert(score);
  }
  __device__ __forceinline__ ChunkTop top() const {
    const __half2 bounds = __halves2half2(__float2half_ru(rest), __float2half_ru(hidden));
    return {{named[0], named[1], named[2]}, *reinterpret_cast<const uint32_t*>(&bounds)};
  }
};

// Ranks the scores of a half of the chunk.
__device__ __forceinline__ void rank(const KMeansParams& params, const WarpgroupSums<float>& sums, int half,
                                     const float* half_squares, int lane, GroupTops (&best)[kWarpBlocks]) {
  constexpr float kUnscale = 1 / (kHalfScale * kHalfScale);
  // kPlaceBits, but not as a constant: an instruction takes a mask from a register and a place, but not two
  // constants, and the scan would take 12 % longer.
  const uint32_t mask = ~0u << params.id_bits;
  const float* const own = half_squares + half * kMatrixColumns + lane % 4 * 2;
#pragma unroll
  for (int group = 0; group < kMatrixColumns / 8 * 2 / kGroupClusters; ++group) {
    float scores[kWarpBlocks][kGroupClusters];
#pragma unroll
    for (int i = 0; i < kGroupClusters / 2; ++i) {
      const int block = group * (kGroupClusters / 2) + i;
      const float2 squares = *reinterpret_cast<const float2*>(own + 8 * block);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float score = fmaf(sums.value[4 * block + j], kUnscale, j % 2 == 0 ? -squares.x : -squares.y);
        const auto place = static_cast<uint32_t>(half * kMatrixColumns + 8 * block + j % 2);
        scores[j / 2][2 * i + j % 2] = __uint_as_float((__float_as_uint(score) & mask) | place);
      }
    }
#pragma unroll
    for (int row = 0; row < kWarpBlocks; ++row) best[row].insert(scores[row]);
  }
}

// Writes the best scores of the warp's rows in the chunk. first_place: of the warp's first row.
__device__ __forceinline__ void write_tops(GroupTops (&best)[kWarpBlocks], int first_place, int count,
                                           int lane, ChunkTop* tops) {
#pragma unroll
  for (int row = 0; row < kWarpBlocks; ++row) {
#pragma unroll
    for (float& score : best[row].named)
      score = __uint_as_float(__float_as_uint(score) | static_cast<uint32_t>(lane % 4 * 2));
    best[row].combine(1);
    best[row].combine(2);
    const int at = first_place + row * kCoreRows + lane / 4;
    if (lane % 4 == row && at < count) tops[at] = best[row].top();
  }
}

// Copies a chunk of centroids to shared memory. Called by the whole block.
__device__ void load_chunk(const KMeansParams& params, int chunk, int chunk_words, uint4* columns,
                           float* half_squares) {
  for (int i = static_cast<int>(threadIdx.x); i < chunk_words; i += kThreads)
    columns[i] = params.wgmma.columns[static_cast<int64_t>(chunk) * chunk_words + i];
  for (int i = static_cast<int>(threadIdx.x); i < kWgmmaCentroids; i += kThreads) {
    const int cluster = chunk * kWgmmaCentroids + i;
    half_squares[i] =
        cluster < params.centroids.padded ? params.centroids.half_squares[cluster] : kPaddingHalfSquare;
  }
  publish_operands();
  __syncthreads();
}

// A block scores rows with one chunk of centroids, which stay in shared memory; blocks of different chunks
// read the same rows at about the same time. Rows go from memory to registers, and from there to the tensor
// cores: the next ones are on their way while a warpgroup ranks.
template <int kPairs>
__global__ void __launch_bounds__(kThreads, 1)
    kmeans_wgmma_kernel(const __grid_constant__ KMeansParams params, int first, int last, int chunks) {
  extern __shared__ __align__(128) std::byte shared[];
  constexpr int kChunkWords = kWgmmaCentroids * kPairs * kPairWords;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = __shfl_sync(kFullWarp, static_cast<int>(threadIdx.x) / kWarpLanes % 4, 0);
  const int warpgroup = __shfl_sync(kFullWarp, static_cast<int>(threadIdx.x) / kWarpgroupThreads, 0);
  const int chunk = static_cast<int>(blockIdx.x) % chunks;
  auto* const columns = reinterpret_cast<uint4*>(shared);
  auto* const half_squares = reinterpret_cast<float*>(columns + kChunkWords);
  load_chunk(params, chunk, kChunkWords, columns, half_squares);

  const int count = row_count(params, last);
  if (count <= first) return;
  const int teams = static_cast<int>(gridDim.x) / chunks;
  const int stride = teams * kWarpgroups * kMatrixRows;
  const int base = first + (static_cast<int>(blockIdx.x) / chunks * kWarpgroups + warpgroup) * kMatrixRows +
                   warp * kWarpBlocks * kCoreRows;
  const int rounds = (count - first + stride - 1) / stride;
  // The last row stands for those past the end, and is loaded again after the last round.
  const auto row_at = [&](int round, int block) -> int64_t {
    const int place = min(base + round * stride + block * kCoreRows + lane / 4, count - 1);
    return params.answer == KMeansAnswer::kLabels ? __ldg(params.fit.visits + place) : place;
  };
  const auto words_of = [&](int64_t row) {
    return params.halves.words + row * params.halves.row_words + lane % 4;
  };
  WarpgroupRows<kPairs> rows;
  const int words_left = params.halves.row_words - lane % 4;
  rows.load(words_of(row_at(0, 0)), words_of(row_at(0, 1)), words_left);
  int64_t next[kWarpBlocks] = {row_at(1, 0), row_at(1, 1)};
  ChunkTop* const tops = params.wgmma.tops + static_cast<int64_t>(chunk) * params.part.rows;
  constexpr int kColumnStride = kPairs * kPairWords * kCoreBytes;  // bytes of eight centroids
  constexpr uint64_t kNextHalf = kMatrixColumns / kCoreRows * kColumnStride >> 4;
  const uint64_t b = matrix_operand(columns, kColumnStride);
  for (int round = 0; round < rounds; ++round) {
    rows.arrange();
    WarpgroupSums<float> sums[kHalves];
    for (auto& half : sums) half.begin();
    for (int half = 0; half < kHalves; ++half) {
      rows.multiply(sums[half], b + static_cast<uint64_t>(half) * kNextHalf);
      sums[half].commit();
    }
    GroupTops best[kWarpBlocks];
    sums[0].wait<1>();
    rank(params, sums[0], 0, half_squares, lane, best);
    sums[1].wait();
    rows.load(words_of(next[0]), words_of(next[1]), words_left);
    for (int block = 0; block < kWarpBlocks; ++block) next[block] = row_at(round + 2, block);
    rank(params, sums[1], 1, half_squares, lane, best);
    write_tops(best, base + round * stride, count, lane, tops);
  }
}

// What the chunks have found for a row, as LaneTops says what lanes have.
struct ChunkTops {
  static constexpr bool kGroups = true;

  const ChunkTop* tops;  // of the row in the first chunk
  int64_t rows;          // from chunk to chunk
  int chunks;            // 0: there is no row

  template <class Visit>
  __device__ __forceinline__ void each(const Visit& visit) const {
#pragma unroll 4
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const ChunkTop found = tops[chunk * rows];
#pragma unroll
      for (const float score : found.named) visit(score, cluster_of(chunk, score));
    }
  }
  __device__ __forceinline__ ScoreBounds bounds() const {
    ScoreBounds all;
#pragma unroll 4
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const float2 own = __half22float2(*reinterpret_cast<const __half2*>(&tops[chunk * rows].bounds));
      all.rest = fmaxf(all.rest, own.x);
      all.hidden = fmaxf(all.hidden, own.y);
    }
    return all;
  }
  __device__ static int32_t cluster_of(int chunk, float score) {
    return chunk * kWgmmaCentroids + static_cast<int>(__float_as_uint(score) & ((1u << kPlaceBits) - 1));
  }
};

// Combines what the chunks have found and finishes the rows, one per thread.
__global__ void __launch_bounds__(kMergeThreads)
    kmeans_merge_kernel(const __grid_constant__ KMeansParams params, int first, int last, int chunks) {
  const int count = row_count(params, last);
  const int stride = static_cast<int>(gridDim.x) * kMergeThreads;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  for (int base = first + static_cast<int>(blockIdx.x * kMergeThreads + threadIdx.x) - lane; base < count;
       base += stride) {
    const int place = base + lane;
    const bool exists = place < count;
    OwnRow own;
    if (exists) own.load(params, params.answer == KMeansAnswer::kLabels ? params.fit.visits[place] : place);
    finish(params, ChunkTops{params.wgmma.tops + place, params.part.rows, exists ? chunks : 0}, own);
  }
}

}  // namespace

bool kmeans_wgmma_fits(int64_t dims, int64_t count, const DeviceShape& shape) {
  const auto row_words = static_cast<int>(half_row_words(dims));
  return shape.wgmma && count > kFewCentroids && count <= kMostCentroids &&
         row_words <= kMostPairs * kPairWords &&
         shared_bytes(multiplied_pairs(row_words)) <= shape.shared_limit;
}

int64_t column_words(int64_t dims, int64_t count) {
  return centroid_chunks(count) * kWgmmaCentroids * kPairWords *
         multiplied_pairs(static_cast<int>(half_row_words(dims)));
}

namespace {

template <int kPairs>
cudaError_t launch_scores(const KMeansParams& params, int32_t first, int32_t last, int chunks,
                          const DeviceShape& shape, cudaStream_t stream) {
  constexpr int kBytes = shared_bytes(kPairs);
  const int64_t blocks = blocks_in_teams(last - first, kWarpgroups * kMatrixRows, chunks, shape);
  return launch(kmeans_wgmma_kernel<kPairs>, {blocks, kThreads, kBytes, kBytes}, stream, params, first, last,
                chunks);
}

}  // namespace

cudaError_t launch_kmeans_wgmma(const KMeansParams& params, int32_t first, int32_t last,
                                const DeviceShape& shape, cudaStream_t stream) {
  KMeansParams own = params;
  own.id_bits = kPlaceBits;
  const auto chunks = static_cast<int>(centroid_chunks(params.centroids.count));
  const int pairs = multiplied_pairs(params.halves.row_words);
  const auto words = static_cast<int>(column_words(params.part.dims, params.centroids.count));
  cudaError_t error =
      launch(kmeans_columns_kernel, {(words + kMergeThreads - 1) / kMergeThreads, kMergeThreads}, stream, own,
             words, pairs * kPairWords);
  if (error != cudaSuccess) return error;
  error = pairs == 2   ? launch_scores<2>(own, first, last, chunks, shape, stream)
          : pairs == 4 ? launch_scores<4>(own, first, last, chunks, shape, stream)
          : pairs == 7 ? launch_scores<7>(own, first, last, chunks, shape, stream)
                       : launch_scores<kMostPairs>(own, first, last, chunks, shape, stream);
  if (error != cudaSuccess) return error;
  const int merging = min((last - first + kMergeThreads - 1) / kMergeThreads, shape.multiprocessors * 8);
  return launch(kmeans_merge_kernel, {merging, kMergeThreads}, stream, own, first, last, chunks);
}

}  // namespace glove::gpu
