// Answers one query in one cooperative launch: scan, threshold, refinement and exact dot products, with the
// answer written to host memory. From 4-bit codes, exact similarities of promising rows yield the threshold,
// and the packed rows and then the vectors of the rows whose bounds reach it are looked up. Host code may
// include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpu/kernels/device_shape.h"
#include "gpu/layout/bounds.h"
#include "gpu/layout/device_part.h"

namespace glove::gpu {

// Counters of one launch, in device memory. A launch finds its own counters at zero and clears the other set,
// which the next launch on the same stream uses.
struct alignas(16) ScanCounters {
  uint32_t histogram[kBins];
  unsigned long long progress;  // lower half: candidates; upper half: blocks that have finished
  uint32_t scanned;             // blocks that have finished the scan
  uint32_t collected;           // blocks whose candidates are in device memory
};

// What the host waits for, in mapped host memory. `candidates` and `times` are each written in one store,
// with the launch's number in the upper half. The answer is complete when both have arrived.
struct ScanDone {
  uint64_t candidates;  // lower half: their number, even if more than fit
  // lower half: time of the threshold (upper 16 bits) and of everything after it, in units of kTimeUnit ns
  uint64_t times;
  // From the start of the first block to the barrier. For timings only, and may arrive later.
  uint64_t scan_ns;
};

constexpr uint32_t kTimeUnit = 32;  // nanoseconds
// Placeholders in mapped memory for values that have not arrived. kNoRow is not a valid row, and kNothingYet
// is neither a similarity nor kNoSimilarity.
constexpr int32_t kNoRow = -1;
constexpr double kNothingYet = 4.0;

// Queries up to this size are passed as a kernel parameter, longer ones in device memory.
constexpr int64_t kInlineQueryBytes = 3712;

// The layout of a query as the kernel reads it: the two planes of pack_planes, then the floats from the next
// multiple of 16 bytes.
GLOVE_HOST_DEVICE constexpr int64_t query_floats_offset(int64_t dims) {
  return ((dims + 3) / 4 * 8 + 15) / 16 * 16;
}
GLOVE_HOST_DEVICE constexpr int64_t query_bytes(int64_t dims) {
  return (query_floats_offset(dims) + dims * 4 + 15) / 16 * 16;
}
// Bytes of shared memory for it.
GLOVE_HOST_DEVICE constexpr int64_t shared_query_bytes(int64_t dims) {
  return (query_bytes(dims) + 127) / 128 * 128;
}

// Where a launch writes its answer.
struct ScanAnswer {
  // The candidates as they are found: in mapped host memory (kNoRow and kNothingYet before the launch) or, if
  // they will be ranked, in device memory. Upper bounds, which upper_of_code() returns, if there are no
  // vectors.
  uint32_t capacity;
  int32_t* ids;          // [capacity]
  double* similarities;  // [capacity]
  // The `top_rows` best candidates in the relation's order, in mapped host memory (kNoRow and kNothingYet
  // before the launch), unless there are more candidates than `capacity`. If null, the candidates are not
  // ranked. REQUIRES: the part has vectors.
  int32_t* ranked_ids;
  double* ranked_similarities;
};

// The arguments of one launch. Pointers are not owned.
struct SingleScanParams {
  // Without vectors upper bounds are returned in place of exact similarities. A scan of 4 bits REQUIRES
  // vectors, coarse and packed_rows.
  DevicePart part;
  int32_t tiles;   // tile_count(part.rows)
  int32_t groups;  // component_groups(part.dims)
  // The query.
  QueryBound bound;
  ShiftBound shift;  // if the codes are shifted
  double norm_squared;
  int32_t top_rows;  // as in Device::propose
  int32_t count_every_row;
  int32_t reversed;        // scans the last tile first, to find in L2 what the previous scan left there
  int32_t code_sum;        // for 4 bits: the sum of the query's codes
  int32_t seeds_per_warp;  // for 4 bits: rows that a warp scores for the threshold: 1 to 32
  // Device memory.
  ScanCounters* counters;
  ScanCounters* next_counters;
  uint16_t* row_upper;          // row_upper_bytes() bytes; null if shared memory holds them
  const std::byte* long_query;  // the query's bytes, or null if `query` holds them
  ScanAnswer answer;
  ScanDone* done;
  uint32_t sequence;
  alignas(16) std::byte query[kInlineQueryBytes];
};

// Whether the query of a model of `dims` dimensions fits in the shared memory of a block.
bool single_scan_fits(int64_t dims, const DeviceShape& shape);

// Returns the bytes of device memory that a launch needs for the upper bounds of its rows: 0 if they fit in
// shared memory, as those of 14 million rows do on an H200.
int64_t row_upper_bytes(int64_t dims, int64_t tiles, const DeviceShape& shape);

// Starts the scan of the 8-bit or 4-bit codes and returns without waiting for it. Sets scan.seeds_per_warp.
// REQUIRES: single_scan_fits().
cudaError_t launch_single_scan(int bits, SingleScanParams& scan, const DeviceShape& shape,
                               cudaStream_t stream);

}  // namespace glove::gpu
