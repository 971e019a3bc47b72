// Scans many queries against each tile of rows on the int8 tensor cores. One round launches these kernels on
// one stream: the scan of a sample of tiles, the thresholds from the sample, one list per query of the rows
// of the first tiles that reach its threshold, tighter thresholds from the lists, the rows of the other
// tiles, and the exact answer from each list. No launch waits for the host, and scores below a threshold are
// never written. Host code may include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpu/kernels/device_shape.h"
#include "gpu/layout/bounds.h"
#include "gpu/layout/device_part.h"

namespace glove::gpu {

// A row in a query's list, with its bounds (gpu/layout/bounds.h).
struct ListedRow {
  int32_t row;
  uint16_t lower_bin;   // bin_of(lower bound)
  uint16_t upper_code;  // upper_code(upper bound)
};

// The parameters of one query; device memory holds an array of them.
struct BatchQuery {
  QueryBound bound;
  ShiftBound shift;  // if the codes are shifted
  float least;       // rows with a lower upper bound need not be found
  double norm_squared;
};

// The answers of a round.
struct AnswerArrays {
  int32_t* sizes;        // [queries]: the number of rows, or kListOverflow
  int32_t* ids;          // [queries, answer_capacity]; ranked if there are vectors
  double* similarities;  // [queries, answer_capacity]; set if there are vectors
};
constexpr int32_t kListOverflow = -1;

// The arguments of every launch of one round. Pointers are not owned.
struct BatchScanParams {
  DevicePart part;  // without vectors the lists are returned unscored
  int32_t tiles;    // tile_count(part.rows)
  int32_t groups;   // component_groups(part.dims)
  int32_t steps;    // matrix_steps(part.dims)
  // The queries; device memory.
  const int8_t* fragments;       // pack_fragments
  const int8_t* columns;         // pack_columns; if it is set, warpgroups scan the packed rows
  const float* query_vectors;    // [queries, dims]; used only with vectors
  const BatchQuery* parameters;  // [padded_queries]
  int32_t queries;
  int32_t padded_queries;  // a multiple of 32
  int32_t top_rows;        // as in Device::propose
  // Scratch; device memory.
  int32_t sample_tiles;
  int32_t sample_groups;  // of rows: tiles or, with `columns`, pairs of tiles
  float* sample_best;     // [padded_queries, sample_groups]: the largest lower bound of each group
  float* thresholds;      // [padded_queries]
  uint32_t* list_sizes;   // [padded_queries], zero before the launch; also counts rows that did not fit
  ListedRow* lists;       // [padded_queries, list_capacity]
  uint32_t list_capacity;
  uint32_t answer_capacity;
  AnswerArrays answers;  // in device memory or mapped host memory
};

// Fills sample_best and then thresholds, with two launches.
cudaError_t launch_batch_thresholds(const BatchScanParams& scan, const DeviceShape& shape,
                                    cudaStream_t stream);
// Appends the rows of tiles [first, last) to lists and list_sizes.
cudaError_t launch_batch_lists(const BatchScanParams& scan, int32_t first, int32_t last,
                               const DeviceShape& shape, cudaStream_t stream);
// Raises thresholds to what the lists so far allow. A threshold never falls.
cudaError_t launch_batch_tighten(const BatchScanParams& scan, cudaStream_t stream);
// Writes the answer. With vectors it is the `top_rows` best rows of each list by exact similarity, ties by
// id. Without them it is the rows of the list that the list's own best lower bounds do not rule out.
cudaError_t launch_batch_answers(const BatchScanParams& scan, cudaStream_t stream);

}  // namespace glove::gpu
