#include "gpu/kernels/kmeans_wgmma.h"

#include <cuda_pipeline_primitives.h>

#include "gpu/kernels/kmeans_halves.cuh"
#include "gpu/kernels/kmeans_ranking.cuh"
#include "gpu/tile.h"
#include "gpu/warp/reduce.cuh"
#include "gpu/warpgroup/matrix.cuh"

namespace glove::gpu {
namespace {

static_assert(kWgmmaCentroids == kMatrixColumns);
constexpr int kWarpgroups = 2;  // one looks at its scores while the other one multiplies
constexpr int kThreads = kWarpgroups * kWarpgroupThreads;
constexpr int kSlabWords = 8;  // words of 16 bytes of each row that are copied to shared memory at a time
constexpr int kSlabDepths = kSlabWords * kWordBytes / kDepthBytes;
constexpr int kStages = 4;  // slabs of kMatrixRows rows that a warpgroup has in shared memory
constexpr int kSlabStride = kSlabWords * kCoreBytes;
constexpr int kSlabBytes = kMatrixRows / kCoreRows * kSlabStride;
constexpr int kWarpBlocks = 2;  // blocks of kCoreRows rows per warp
constexpr int kPlaceBits = 8;   // low bits of a score that hold the place of its centroid in the chunk
constexpr int kMergeThreads = 256;
constexpr int kFewCentroids = 64;
constexpr int kMostCentroids = 4096;

constexpr int shared_bytes(int row_words) {
  return kWgmmaCentroids * row_words * kWordBytes + kWgmmaCentroids * static_cast<int>(sizeof(float)) +
         kWarpgroups * kStages * kSlabBytes;
}

// Returns the number of rows that the launch scores.
__device__ int row_count(const KMeansParams& params, int last) {
  return min(last, params.wanted == 1 ? static_cast<int>(params.counters->visits)
                                      : static_cast<int>(params.part.rows));
}

// Brings the centroids into the order of core matrices: [padded / 8, row_words, 8] words. The components of a
// word are in the order of the rows (row_place). A thread per word.
__global__ void __launch_bounds__(kMergeThreads)
    kmeans_columns_kernel(const __grid_constant__ KMeansParams params, int words) {
  const int i = static_cast<int>(blockIdx.x * kMergeThreads + threadIdx.x);
  if (i >= words) return;
  const int row_words = params.halves.row_words;
  const int cluster = i / kCoreRows / row_words * kCoreRows + i % kCoreRows;
  const int word = i / kCoreRows % row_words;
  uint2 halves[2] = {};
  if (cluster < params.centroids.padded) {
    const auto* const fragments = reinterpret_cast<const __half*>(params.centroids.fragments);
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int component = word / 4 * 32 + part * 16 + word % 4 * 4;
      halves[part] =
          *reinterpret_cast<const uint2*>(fragments + centroid_place(cluster, component, params.steps));
    }
  }
  params.wgmma.columns[i] = make_uint4(halves[0].x, halves[0].y, halves[1].x, halves[1].y);
}

// Copies slabs of a warpgroup's rows to shared memory, one after another. Each warp copies its own rows.
struct SlabLoader {
  const KMeansParams& params;
  int first, count;  // of the rows to score
  int stride;        // rows from one round to the next
  int rounds, slabs;
  std::byte* stages;
  int warp, lane;
  int round = 0;
  int slab = 0;
  int stage = 0;
  const uint4* from[kWarpBlocks] = {};

  // Starts copying the next slab, if there is one.
  __device__ void fetch() {
    if (round < rounds) {
      if (slab == 0) find_rows();
      const int left = params.halves.row_words - slab * kSlabWords;
#pragma unroll
      for (int block = 0; block < kWarpBlocks; ++block) {
        std::byte* const to = stages + stage * kSlabBytes + (warp * kWarpBlocks + block) * kSlabStride;
#pragma unroll
        for (int word = lane / kCoreRows; word < kSlabWords; word += kWarpLanes / kCoreRows)
          if (word < left)
            __pipeline_memcpy_async(to + (word * kCoreRows + lane % kCoreRows) * kWordBytes,
                                    from[block] + slab * kSlabWords + word, kWordBytes);
      }
      if (++slab == slabs) {
        slab = 0;
        ++round;
      }
      stage = (stage + 1) % kStages;
    }
    __pipeline_commit();
  }

 private:
  // The last row stands for those past the end.
  __device__ void find_rows() {
#pragma unroll
    for (int block = 0; block < kWarpBlocks; ++block) {
      const int place = min(
          first + round * stride + (warp * kWarpBlocks + block) * kCoreRows + lane % kCoreRows, count - 1);
      const int64_t row = params.wanted == 1 ? __ldg(params.visits + place) : place;
      from[block] = params.halves.words + row * params.halves.row_words;
    }
  }
};

// Writes the best scores of the warp's rows in the chunk. first_place: of the warp's first row.
__device__ __forceinline__ void write_tops(const KMeansParams& params, const WarpgroupSums<float>& sums,
                                           const float* half_squares, int first_place, int count, int lane,
                                           ChunkTop* tops) {
  constexpr float kUnscale = 1 / (kHalfScale * kHalfScale);
  const uint32_t mask = ~0u << kPlaceBits;
  TopScores best[kWarpBlocks];
#pragma unroll
  for (int block = 0; block < kMatrixColumns / 8; ++block) {
    const float2 squares = *reinterpret_cast<const float2*>(half_squares + 8 * block + lane % 4 * 2);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float score = fmaf(sums.value[4 * block + i], kUnscale, i % 2 == 0 ? -squares.x : -squares.y);
      best[i / 2].insert(
          __uint_as_float((__float_as_uint(score) & mask) | static_cast<uint32_t>(8 * block + i % 2)));
    }
  }
#pragma unroll
  for (int row = 0; row < kWarpBlocks; ++row) {
    const auto place = static_cast<uint32_t>(lane % 4 * 2);
    TopScores& own = best[row];
    own.first = __uint_as_float(__float_as_uint(own.first) | place);
    own.second = __uint_as_float(__float_as_uint(own.second) | place);
#pragma unroll
    for (int distance = 1; distance <= 2; distance *= 2) {
      const float first = __shfl_xor_sync(kFullWarp, own.first, distance);
      const float second = __shfl_xor_sync(kFullWarp, own.second, distance);
      const float third = __shfl_xor_sync(kFullWarp, own.third, distance);
      own.insert(first);
      own.insert(second);
      own.third = fmaxf(own.third, third);
    }
    const int at = first_place + row * kCoreRows + lane / 4;
    if (lane % 4 == row && at < count) tops[at] = {own.first, own.second, own.third};
  }
}

// A block scores rows with one chunk of centroids, which stay in shared memory; blocks of different chunks
// read the same rows at about the same time. The warpgroups take turns, so that one multiplies while the
// other one ranks.
__global__ void __launch_bounds__(kThreads, 1)
    kmeans_wgmma_kernel(const __grid_constant__ KMeansParams params, int first, int last, int chunks) {
  extern __shared__ __align__(128) std::byte shared[];
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = __shfl_sync(kFullWarp, static_cast<int>(threadIdx.x) / kWarpLanes % 4, 0);
  const int warpgroup = __shfl_sync(kFullWarp, static_cast<int>(threadIdx.x) / kWarpgroupThreads, 0);
  const int row_words = params.halves.row_words;
  const int chunk = static_cast<int>(blockIdx.x) % chunks;
  const int chunk_words = kWgmmaCentroids * row_words;
  auto* const columns = reinterpret_cast<uint4*>(shared);
  auto* const half_squares = reinterpret_cast<float*>(columns + chunk_words);
  std::byte* const stages =
      reinterpret_cast<std::byte*>(half_squares + kWgmmaCentroids) + warpgroup * kStages * kSlabBytes;
  for (int i = static_cast<int>(threadIdx.x); i < chunk_words; i += kThreads)
    columns[i] = params.wgmma.columns[static_cast<int64_t>(chunk) * chunk_words + i];
  for (int i = static_cast<int>(threadIdx.x); i < kWgmmaCentroids; i += kThreads) {
    const int cluster = chunk * kWgmmaCentroids + i;
    half_squares[i] =
        cluster < params.centroids.padded ? params.centroids.half_squares[cluster] : kPaddingHalfSquare;
  }
  publish_operands();
  __syncthreads();

  const int count = row_count(params, last);
  const int teams = static_cast<int>(gridDim.x) / chunks;
  const int stride = teams * kWarpgroups * kMatrixRows;
  const int base = first + (static_cast<int>(blockIdx.x) / chunks * kWarpgroups + warpgroup) * kMatrixRows;
  const int rounds = count > first ? (count - first + stride - 1) / stride : 0;
  const int slabs = (row_words + kSlabWords - 1) / kSlabWords;
  SlabLoader loader = {params, base, count, stride, rounds, slabs, stages, warp, lane};
  for (int i = 0; i < kStages - 2; ++i) loader.fetch();
  ChunkTop* const tops = params.wgmma.tops + static_cast<int64_t>(chunk) * params.part.rows;
  const uint64_t b = matrix_operand(columns, row_words * kCoreBytes);
  int stage = 0;
  for (int round = 0; round < rounds; ++round) {
    WarpgroupSums<float> sums;
    for (int slab = 0; slab < slabs; ++slab) {
      __pipeline_wait_prior(kStages - 3);
      publish_operands();
      if (slab == 0 && (round > 0 || warpgroup > 0)) wait_for_turn(warpgroup);
      if (slab == 0) sums.begin();
      sums.template wait<1>();
      warpgroup_barrier(warpgroup);
      const uint64_t rows = matrix_operand(stages + stage * kSlabBytes, kSlabStride);
      const int depths = min(kSlabDepths, row_words / 2 - slab * kSlabDepths);
#pragma unroll 1
      for (int depth = 0; depth < depths; ++depth)
        sums.add(rows + static_cast<uint64_t>(depth) * kNextDepth,
                 b + static_cast<uint64_t>(slab * kSlabDepths + depth) * kNextDepth, slab + depth == 0);
      sums.commit();
      loader.fetch();
      stage = (stage + 1) % kStages;
    }
    if (round + 1 < rounds || warpgroup + 1 < kWarpgroups) give_turn((warpgroup + 1) % kWarpgroups);
    sums.wait();
    write_tops(params, sums, half_squares, base + round * stride + warp * kWarpBlocks * kCoreRows, count,
               lane, tops);
  }
}

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
    TopClusters top = {-INFINITY, -INFINITY, -INFINITY, 0, 0};
    OwnRow own;
    if (exists) own.load(params, params.wanted == 1 ? params.visits[place] : place);
    for (int chunk = 0; exists && chunk < chunks; ++chunk) {
      const ChunkTop found = params.wgmma.tops[static_cast<int64_t>(chunk) * params.part.rows + place];
      const auto cluster_of = [&](float score) {
        return chunk * kWgmmaCentroids + static_cast<int>(__float_as_uint(score) & ((1u << kPlaceBits) - 1));
      };
      top.insert(found.first, cluster_of(found.first));
      top.insert(found.second, cluster_of(found.second));
      top.third = fmaxf(top.third, found.third);
    }
    top.first_cluster = min(top.first_cluster, params.centroids.count - 1);  // only if the model is damaged
    finish(params, top, own);
  }
}

}  // namespace

bool kmeans_wgmma_fits(int64_t dims, int64_t count, const BatchShape& shape) {
  return shape.wgmma && count > kFewCentroids && count <= kMostCentroids &&
         shared_bytes(static_cast<int>(half_row_words(dims))) <= shape.shared_limit;
}

cudaError_t launch_kmeans_wgmma(const KMeansParams& params, int32_t first, int32_t last,
                                const BatchShape& shape, cudaStream_t stream) {
  KMeansParams own = params;
  own.id_bits = max(own.id_bits, kPlaceBits);
  const auto chunks = static_cast<int>(centroid_chunks(params.centroids.count));
  const int words = chunks * kWgmmaCentroids * params.halves.row_words;
  kmeans_columns_kernel<<<static_cast<unsigned>((words + kMergeThreads - 1) / kMergeThreads), kMergeThreads,
                          0, stream>>>(own, words);
  const int bytes = shared_bytes(params.halves.row_words);
  cudaError_t error =
      cudaFuncSetAttribute(kmeans_wgmma_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) return error;
  const int block_rows = kWarpgroups * kMatrixRows;
  const int useful = (last - first + block_rows - 1) / block_rows;
  const int fitting = max(1, shape.multiprocessors / chunks);
  const int teams = min(fitting, useful);
  kmeans_wgmma_kernel<<<static_cast<unsigned>(teams * chunks), kThreads, static_cast<size_t>(bytes),
                        stream>>>(own, first, last, chunks);
  error = cudaGetLastError();
  if (error != cudaSuccess) return error;
  const int merging = min((last - first + kMergeThreads - 1) / kMergeThreads, shape.multiprocessors * 8);
  kmeans_merge_kernel<<<static_cast<unsigned>(merging), kMergeThreads, 0, stream>>>(own, first, last, chunks);
  return cudaGetLastError();
}

}  // namespace glove::gpu
