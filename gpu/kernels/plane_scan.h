// Answers one query in one cooperative launch, as coarse_scan.h does, from plane one of all rows
// (lists/planes.h). Host code may include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpu/kernels/coarse_scan.h"

namespace glove::gpu {

// The query of such a launch has the codes of pack_plane_codes() behind query_bytes(dims) bytes.
struct PlaneScanParams {
  CoarseScanParams coarse;  // with scan.part.vectors, packed_rows and planes; code_sum is not read
  int32_t row_words;        // plane_row_words(dims)
  float step;               // of the query's codes (PlaneLine)
  float start;
  double inverse_norm;  // of the query
  float* products;      // [planes.lists], device memory that the launch overwrites
};

// Returns the shape that these launches have in place of a model's.
ScanShape plane_scan_shape(const ScanShape& shape, int64_t dims);

// Raises the kernel's shared memory limit as needed. Call it once per shape of a model.
cudaError_t prepare_plane_scan(const ScanShape& shape);

// Starts the scan and returns without waiting for it. `shape` is a plane_scan_shape().
cudaError_t launch_plane_scan(const PlaneScanParams& params, const ScanShape& shape, cudaStream_t stream);

}  // namespace glove::gpu
