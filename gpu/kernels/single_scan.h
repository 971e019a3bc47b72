// One query in one cooperative launch: scan, threshold, refinement and exact dot products, and the
// answer in host memory. Host code may include this.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpu/bounds.h"
#include "gpu/device_part.h"

namespace glove::gpu {

// Counters of one launch in device memory. A launch finds its own at zero and zeroes its neighbour's, which
// the next launch of the same stream uses.
struct alignas(16) ScanCounters {
  uint32_t histogram[kBins];
  unsigned long long progress;  // lower half: candidates; upper half: blocks that have finished
  uint32_t scanned;             // blocks that have
  uint32_t collected;           // blocks whose candidates are in device memory
};

// What the host waits for, in mapped host memory: two words, each written in one piece, with the launch's
// number in its upper half. The answer is there when both have come.
struct ScanDone {
  uint64_t candidates;  // lower half: how many, also when more than fit
  uint64_t times;    // lower half: the threshold (upper 16 bits) and all after it, in kTimeUnit nanoseconds
  uint64_t scan_ns;  // from the first block's start to the barrier; for timings only, may come later
};

constexpr uint32_t kTimeUnit = 32;  // nanoseconds
// What stands in mapped memory where nothing has come yet; no row and no similarity, nor kNoSimilarity.
constexpr int32_t kNoRow = -1;
constexpr double kNothingYet = 4.0;

// Queries up to this size travel as a kernel parameter, longer ones in device memory.
constexpr int64_t kInlineQueryBytes = 3712;

// Bytes of a query as the kernel reads it: the two planes of pack_planes, then from a multiple of 16 on the
// floats.
GLOVE_HOST_DEVICE constexpr int64_t query_floats_offset(int64_t dims) {
  return ((dims + 3) / 4 * 8 + 15) / 16 * 16;
}
GLOVE_HOST_DEVICE constexpr int64_t query_bytes(int64_t dims) {
  return (query_floats_offset(dims) + dims * 4 + 15) / 16 * 16;
}

struct SingleScanParams {
  DevicePart part;  // without vectors: no exact dots
  int32_t tiles;    // tile_count(part.rows)
  int32_t groups;   // component_groups(part.dims)
  // The query.
  QueryBound bound;
  double norm_squared;
  int32_t top_rows;  // of Device::propose
  int32_t count_every_row;
  int32_t reversed;  // the last tile first: finds in L2 what the scan before left there
  // Device memory.
  ScanCounters* counters;
  ScanCounters* next_counters;
  uint16_t* row_upper;          // row_upper_bytes() bytes; null: shared memory holds them
  const std::byte* long_query;  // query_bytes(dims), or null: `query`
  // The candidates as they are found, in mapped host memory (kNoRow and kNothingYet before the launch), or,
  // if they are to be ranked, in device memory. Similarities are there if part.vectors are.
  uint32_t capacity;
  int32_t* ids;          // [capacity]
  double* similarities;  // [capacity]
  // Mapped host memory: the `top_rows` best of them in the relation's order (kNoRow and kNothingYet before
  // the launch), unless there are more than `capacity`. Null: they are not ranked. REQUIRES: part.vectors.
  int32_t* ranked_ids;
  double* ranked_similarities;
  ScanDone* done;
  uint32_t sequence;
  alignas(16) std::byte query[kInlineQueryBytes];
};

// How a device runs the scan of a model; depends on the device and on dims only.
struct ScanShape {
  int blocks = 0;
  int query_bytes = 0;   // of shared memory
  int shared_limit = 0;  // bytes of shared memory that a block may ask for
};

// Device memory that a launch needs for the upper bounds of its rows, 0 if they fit in shared memory, as
// those of 14 million rows do on an H200.
int64_t row_upper_bytes(const ScanShape& shape, int64_t tiles);

// Raises the kernel's shared memory limit as needed; call it once a model and keep it.
cudaError_t single_scan_shape(int device, int64_t dims, ScanShape* shape);

cudaError_t launch_single_scan(const SingleScanParams& scan, const ScanShape& shape, cudaStream_t stream);

}  // namespace glove::gpu
