// Many queries against each tile of rows on the int8 tensor cores. Four launches in one stream: thresholds
// from a sample of tiles, a list a query of the rows above them, the exact answer from each list. No launch
// waits for the host, and no score is written that a threshold rules out. Host code may include this.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpu/bounds.h"
#include "gpu/device_part.h"

namespace glove::gpu {

// A row of a query's list.
struct ListedRow {
  int32_t row;
  float sum;  // sum(c * Q), an integer
};

struct BatchQuery {
  QueryBound bound;
  double norm_squared;
};

struct BatchScanParams {
  DevicePart part;  // without vectors: the lists come back unscored
  int32_t tiles;    // tile_count(part.rows)
  int32_t groups;   // component_groups(part.dims)
  int32_t steps;    // matrix_steps(part.dims)
  // The queries; device memory.
  const int8_t* fragments;       // pack_fragments
  const float* query_vectors;    // [queries, dims], with vectors
  const BatchQuery* parameters;  // [padded_queries]
  int32_t queries;
  int32_t padded_queries;  // a multiple of 32
  int32_t top_rows;        // of Device::propose
  // Scratch; device memory.
  int32_t sample_tiles;
  float* sample_best;    // [padded_queries, sample_tiles]: a tile's largest lower bound
  float* thresholds;     // [padded_queries]
  uint32_t* list_sizes;  // [padded_queries], zero before the launch; also counts rows that did not fit
  ListedRow* lists;      // [padded_queries, list_capacity]
  uint32_t list_capacity;
  // The answer; mapped host memory.
  uint32_t answer_capacity;
  int32_t* answer_sizes;        // [queries]: rows, or kListOverflow
  int32_t* answer_ids;          // [queries, answer_capacity]; ranked, with vectors
  double* answer_similarities;  // likewise, with vectors
};
constexpr int32_t kListOverflow = -1;

struct BatchShape {
  int multiprocessors = 0;
  int shared_limit = 0;
};
cudaError_t batch_shape(int device, BatchShape* shape);

// sample_best, then thresholds.
cudaError_t launch_batch_thresholds(const BatchScanParams& scan, const BatchShape& shape,
                                    cudaStream_t stream);
// Appends the rows of tiles [first, last) to lists and list_sizes.
cudaError_t launch_batch_lists(const BatchScanParams& scan, int32_t first, int32_t last,
                               const BatchShape& shape, cudaStream_t stream);
// Tightens thresholds to what the lists so far allow: a threshold never falls.
cudaError_t launch_batch_tighten(const BatchScanParams& scan, cudaStream_t stream);
// The answer: with vectors the `top_rows` best of each list by exact similarity, ties by id; without them the
// rows of the list that its own best lower bounds do not rule out.
cudaError_t launch_batch_answers(const BatchScanParams& scan, cudaStream_t stream);

}  // namespace glove::gpu
