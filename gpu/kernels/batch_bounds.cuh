// What the scans of a batch make of the integer sums: lower bounds and lists of rows.
#pragma once

#include <cstdint>

#include "gpu/kernels/batch_scan.h"
#include "gpu/layout/bounds.h"
#include "gpu/primitives/block/threshold.cuh"

namespace glove::gpu {

// QueryBound and a threshold t, solved for the sum: estimate + error >= t if sum * s + (r * slope + floor) >=
// 0, where slope = error_slope * S and floor = (error_offset - t) * S, both rounded up.
struct ChunkQuery {
  float slope;
  float floor;
};

// What ShiftBound adds to the sum in question, divided as the other terms are:
// along * along(row) + length * length(row) + square * length(row)^2.
struct ChunkShift {
  float along;
  float length;
  float square;

  // Returns what `rest`, the terms of ChunkQuery, becomes.
  __device__ float add(float rest, float row_along, float row_length) const {
    return fmaf(along, row_along, fmaf(fmaf(square, row_length, length), row_length, rest));
  }
};

// Returns the terms of a query, which are 0 for padding.
__device__ inline ChunkShift chunk_shift(const BatchScanParams& scan, int query) {
  if (query >= scan.queries) return {0.0f, 0.0f, 0.0f};
  const ShiftBound shift = scan.parameters[query].shift;
  const float scale = 1.0f / scan.parameters[query].bound.inverse_scale;
  return {shift.along * scale, shift.length_slope * scale, (shift.square_slope - shift.square) * scale};
}

// Returns the bound of a query against a threshold. That of padding rules every row out.
__device__ inline ChunkQuery chunk_query(const BatchScanParams& scan, int query, float threshold) {
  if (query >= scan.queries) return {1.0f, -INFINITY};
  const QueryBound bound = scan.parameters[query].bound;
  const double scale = 1.0 / bound.inverse_scale;
  const double room = static_cast<double>(bound.error_offset) - threshold;
  return {__double2float_ru(bound.error_slope * scale), __double2float_ru(room * scale)};
}

// Returns a row's bounds as a list keeps them. REQUIRES: the row is admissible.
__device__ inline ListedRow listed_row(const QueryBound& bound, int32_t row, float sum, float scale,
                                       float residual) {
  const float estimate = bound.estimate(sum, scale);
  const float error = bound.error(residual);
  return {row, static_cast<uint16_t>(bin_of(estimate - error)), upper_code(estimate + error)};
}

// Appends a row to a query's list, or only counts it if the list is full.
__device__ inline void append_row(const BatchScanParams& scan, int query, ListedRow row) {
  const uint32_t slot = atomicAdd(scan.list_sizes + query, 1u);
  if (slot < scan.list_capacity) scan.lists[static_cast<int64_t>(query) * scan.list_capacity + slot] = row;
}

// Returns the threshold that a query's list implies. Called by all threads of a block; counts is [kBins] in
// shared memory.
__device__ inline float list_threshold(const BatchScanParams& scan, int64_t query, uint32_t* counts,
                                       ThresholdScratch& scratch) {
  const ListedRow* const list = scan.lists + query * scan.list_capacity;
  const uint32_t size = min(scan.list_sizes[query], scan.list_capacity);
  for (int i = static_cast<int>(threadIdx.x); i < kBins; i += static_cast<int>(blockDim.x)) counts[i] = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < size; i += blockDim.x)
    // verify: range lower-bin
    atomicAdd(counts + list[i].lower_bin, 1u);
  __syncthreads();
  return block_threshold(counts, static_cast<uint32_t>(scan.top_rows), scratch);
}

}  // namespace glove::gpu
