// The frame of a scan for one query, whatever codes it reads: how tiles are divided among blocks, and how
// candidates are collected, ranked and announced to the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/kernels/single_scan.h"
#include "gpu/layout/tile.h"
#include "gpu/primitives/block/ranking.cuh"
#include "gpu/primitives/warp/exact_dot.cuh"
#include "gpu/primitives/warp/reduce.cuh"
#include "gpu/primitives/warp/tile_dots.cuh"

namespace glove::gpu {

constexpr int kThreads = 768;  // one block per multiprocessor
constexpr int kRowLoads = 20;  // components of a row in flight per lane

__device__ inline uint64_t global_nanoseconds() {
  uint64_t time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

// The bounds of a row's similarity that its integer sum implies.
struct RowBound {
  float estimate;
  float lower;
  float upper;
};

// A row that raises no threshold and is never a candidate.
constexpr RowBound kNoBound = {-INFINITY, -INFINITY, -INFINITY};

// A residual of +infinity marks a zero or padding row. A row of a damaged file with NaN here, which cannot be
// ordered, is treated like one.
__device__ inline RowBound row_bound(int sum, float scale, float residual, const QueryBound& bound) {
  if (!(residual < INFINITY)) return kNoBound;
  const float estimate = bound.estimate(static_cast<float>(sum), scale);
  if (!(fabsf(estimate) < INFINITY)) return kNoBound;
  const float error = bound.error(residual);
  return {estimate, estimate - error, estimate + error};
}

// The tiles that a block scans, warp by warp in rounds. Neighbours in scan order go to different blocks.
// Assigning the last tiles dynamically costs more than it evens out, because each atomic operation on the
// same address takes 2.6 ns.
struct Share {
  int warps;
  int rounds;

  __host__ __device__ Share(int64_t tiles, int blocks)
      : warps(kThreads / kWarpLanes),
        rounds(static_cast<int>((tiles + blocks * warps - 1) / (blocks * warps))) {}

  __host__ __device__ int64_t rows() const { return int64_t{rounds} * warps * kRowsPerTile; }

  // Returns the tile at a place in the block's share; past the end it is not in 0 .. tiles - 1.
  __device__ int tile(const SingleScanParams& scan, int place) const {
    const int in_order = place * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
    return scan.reversed != 0 ? scan.tiles - 1 - in_order : in_order;
  }

  // Returns the row that a lane holds after a tile's products. `index`: kRowsPerTile places per tile, in lane
  // order.
  __device__ int row(const SingleScanParams& scan, int index) const {
    static_assert(kRowsPerTile == 1 << 5);
    return tile(scan, index >> 5) * kRowsPerTile + row_of_lane(index & 31);
  }

  // Returns the index of a row of the block's share.
  __device__ int index(const SingleScanParams& scan, int row) const {
    const int tile = row / kRowsPerTile;
    const int in_order = scan.reversed != 0 ? scan.tiles - 1 - tile : tile;
    return in_order / static_cast<int>(gridDim.x) * kRowsPerTile + lane_of_row(row % kRowsPerTile);
  }
};

// What the threads of a block share: the query and, behind it, the histogram and the upper bounds of the
// block's rows, if they have room there.
struct QueryBlock {
  const SingleScanParams& scan;
  const Share share;
  const int warp, lane;
  std::byte* const planes;    // of the query
  const float* const query;   // [dims]
  uint32_t* const histogram;  // [kBins]
  uint16_t* const uppers;     // [share.rows()], in the order of Share::row

  // shared: the block's dynamic shared memory
  __device__ QueryBlock(const SingleScanParams& params, std::byte* shared)
      : scan(params),
        share(params.tiles, static_cast<int>(gridDim.x)),
        warp(static_cast<int>(threadIdx.x) >> 5),
        lane(static_cast<int>(threadIdx.x) & 31),
        planes(shared),
        query(reinterpret_cast<const float*>(shared + query_floats_offset(params.part.dims))),
        histogram(reinterpret_cast<uint32_t*>(shared + shared_query_bytes(params.part.dims))),
        uppers(params.row_upper != nullptr ? params.row_upper + share.rows() * blockIdx.x
                                           : reinterpret_cast<uint16_t*>(histogram + kBins)) {}

  // Copies the query of `bytes` bytes to shared memory and clears the block's histogram and the next
  // launch's counters. Called by all threads; ends with a barrier.
  __device__ void start() const {
    const auto* from =
        reinterpret_cast<const uint32_t*>(scan.long_query != nullptr ? scan.long_query : scan.query);
    const int words = static_cast<int>(query_bytes(scan.part.dims) / 4);
    for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x))
      reinterpret_cast<uint32_t*>(planes)[i] = from[i];
    for (int i = static_cast<int>(threadIdx.x); i < kBins; i += static_cast<int>(blockDim.x))
      histogram[i] = 0;
    auto* next_words = reinterpret_cast<uint32_t*>(scan.next_counters);
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
         i < static_cast<int>(sizeof(ScanCounters) / 4); i += static_cast<int>(gridDim.x * blockDim.x))
      next_words[i] = 0;
    __syncthreads();
  }
};

// Which rows of its tiles a warp may return. The lanes load the words of 32 rounds at once, so that a warp
// does not wait for each.
class TileMasks {
 public:
  __device__ TileMasks(const DeviceMask& mask, int lane)
      : words_(mask.words), row_(1u << row_of_lane(lane)) {}

  // Returns the word of the warp's next tile, which is at this place. Called by whole warps, for all their
  // places in order.
  __device__ uint32_t next(const SingleScanParams& scan, const Share& share, int place, int lane) {
    if (words_ == nullptr) return ~0u;
    if (round_ % kWarpLanes == 0) {
      const int tile = share.tile(scan, place + lane * share.warps);
      loaded_ = tile >= 0 && tile < scan.tiles ? __ldg(words_ + tile) : 0;
    }
    return __shfl_sync(kFullWarp, loaded_, round_++ % kWarpLanes);
  }
  // Whether a tile's word has the lane's row.
  __device__ bool has_row(uint32_t word) const { return (word & row_) != 0; }

 private:
  const uint32_t* words_;
  const uint32_t row_;
  uint32_t loaded_ = 0;
  int round_ = 0;
};

// Appends the rows at places first .. last - 1 of the block's share whose codes reach the threshold's code to
// `rows`, while there is room for `most`, and counts them all. REQUIRES: first and last are multiples of 8.
// Called by all threads of the block, between barriers.
__device__ inline void collect_candidates(const QueryBlock& block, int64_t first, int64_t last, uint16_t code,
                                          int* rows, int most, int* count) {
  for (int64_t i = first + 8 * threadIdx.x; i < last; i += 8 * kThreads) {
    const uint4 eight = *reinterpret_cast<const uint4*>(block.uppers + i);
    const uint32_t pairs[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if ((pairs[j / 2] >> (16 * (j % 2)) & 0xffffu) < code) continue;
      const int slot = atomicAdd(count, 1);
      if (slot < most) rows[slot] = block.share.row(block.scan, static_cast<int>(i) + j);
    }
  }
}

// Returns the similarity of the row that a team of eight lanes has, or kNoSimilarity if row < 0. Called by
// whole warps.
__device__ inline double team_similarity(const QueryBlock& block, int row) {
  const SingleScanParams& scan = block.scan;
  const double norm = row >= 0 ? __ldg(scan.part.norms_squared + row) : 0.0;
  const double dot = team_exact_dot<kRowLoads>(
      block.query, row >= 0 ? scan.part.vectors + static_cast<int64_t>(row) * scan.part.dims : nullptr,
      scan.part.dims, block.lane);
  return cosine_from_dots(dot, scan.norm_squared, norm);
}

// Writes the block's candidates with their similarities, using eight lanes per row; if there are no vectors,
// with upper bounds of these. Called by all threads of the block. rows: [count] in shared memory; uppers:
// those of the block's share; both complete before the call.
__device__ inline void write_candidates(const QueryBlock& block, const int* rows, int count) {
  __shared__ uint32_t first_slot;
  const SingleScanParams& scan = block.scan;
  constexpr int kWarps = kThreads / kWarpLanes;
  if (threadIdx.x == 0 && count > 0)
    first_slot =
        // verify: lemma own-bounds
        static_cast<uint32_t>(atomicAdd(&scan.counters->progress, static_cast<unsigned long long>(count)));
  // A few candidates are spread over as many warps.
  for (int base = 0; base < count; base += 4 * kWarps) {
    const int i = base + (block.lane >> 3) * kWarps + block.warp;
    const int row = i < count ? rows[i] : -1;
    double similarity = 0.0;
    if (scan.part.vectors != nullptr)
      similarity = team_similarity(block, row);
    else if (row >= 0)
      // verify: lemma own-bounds
      // verify: unreached by the scan of 4 bits, which always has vectors
      similarity = upper_of_code(block.uppers[block.share.index(scan, row)]);
    if (base == 0) __syncthreads();  // first_slot was fetched while the products were computed
    const uint32_t slot = first_slot + static_cast<uint32_t>(i);
    if (row < 0 || (block.lane & 7) != 0 || slot >= scan.answer.capacity) continue;
    __stcg(scan.answer.similarities + slot, similarity);
    __stcg(scan.answer.ids + slot, row);
  }
}

// Writes the best candidates in order. Called by all blocks of the grid, after each has written its own
// candidates to device memory. Each warp ranks one candidate at a time by counting those that come before it.
// Stages `staged_rows` rows at a time where the histogram and the upper bounds were.
__device__ inline void rank_candidates(const QueryBlock& block, int staged_rows) {
  __shared__ uint32_t candidates;
  const SingleScanParams& scan = block.scan;
  auto* const staged = reinterpret_cast<RankedRow*>(block.histogram);
  // Blocks that are ahead add to the upper half meanwhile (finish), so one thread reads it in a strong
  // access.
  if (threadIdx.x == 0)
    candidates = static_cast<uint32_t>(*static_cast<volatile unsigned long long*>(&scan.counters->progress));
  __syncthreads();
  const uint32_t count = candidates;
  if (count > scan.answer.capacity) return;
  const uint32_t warps = blockDim.x >> 5;
  const uint32_t grid_warps = gridDim.x * warps;
  // All warps take the same number of rounds, because they share the staging memory.
  for (uint32_t base = 0; base < count; base += grid_warps) {
    const uint32_t mine = base + static_cast<uint32_t>(block.warp) * gridDim.x + blockIdx.x;
    const RankedRow own =
        mine < count ? ranked_row(scan.answer.similarities, scan.answer.ids, mine) : RankedRow{};
    uint32_t before = 0;
    for (uint32_t first = 0; first < count; first += static_cast<uint32_t>(staged_rows)) {
      const uint32_t rows = min(count - first, static_cast<uint32_t>(staged_rows));
      if (base == 0 || count > static_cast<uint32_t>(staged_rows)) {
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < rows; i += blockDim.x)
          staged[i] = ranked_row(scan.answer.similarities, scan.answer.ids, first + i);
        __syncthreads();
      }
      if (mine >= count) continue;
      for (uint32_t i = static_cast<uint32_t>(block.lane); i < rows; i += 32)
        before += staged[i].ranks_before(own) ? 1 : 0;
    }
    before = warp_sum(before);
    if (block.lane == 0 && mine < count && before < static_cast<uint32_t>(scan.top_rows)) {
      // verify: lemma ranks-distinct
      __stcg(scan.answer.ranked_similarities + before, __ldcg(scan.answer.similarities + mine));
      // verify: lemma ranks-distinct
      __stcg(scan.answer.ranked_ids + before, own.id);
    }
  }
}

// When a block started, passed the barrier behind the scan, and knew the threshold; in nanoseconds.
struct ScanTimes {
  uint64_t started, scanned, selected;
};

// Returns a duration in units of kTimeUnit, at most what 16 bits hold.
__device__ inline uint64_t in_time_units(uint64_t nanoseconds) {
  return min(nanoseconds / kTimeUnit, uint64_t{0xffff});
}

// The last block to arrive notifies the host.
__device__ inline void finish(const SingleScanParams& scan, const ScanTimes& times) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  const unsigned long long progress = atomicAdd(&scan.counters->progress, 1ull << 32);
  if ((progress >> 32) + 1 != gridDim.x) return;
  const uint64_t sequence = static_cast<uint64_t>(scan.sequence) << 32;
  volatile ScanDone* done = scan.done;
  done->scan_ns = times.scanned - times.started;
  done->times = sequence | in_time_units(times.selected - times.scanned) << 16 |
                in_time_units(global_nanoseconds() - times.selected);
  done->candidates = sequence | (progress & 0xffffffffu);
}

}  // namespace glove::gpu
