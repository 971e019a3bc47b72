// Answers one query in one cooperative launch, as coarse_scan.h does, from plane one of all rows
// (lists/planes.h), or from their signs with a certainty below 1 (lists/sign_plane.h). Host code may include
// this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpu/kernels/coarse_scan.h"

namespace glove::gpu {

// For plane one, the query of such a launch has the codes of pack_plane_codes() behind query_bytes(dims)
// bytes; for signs it is the floats alone.
struct PlaneScanParams {
  CoarseScanParams coarse;  // with scan.part.vectors, packed_rows and planes; code_sum is not read
  int32_t tile_words;       // plane_tile_words(dims) or sign_tile_words(bits)
  int32_t code_bytes;       // plane_code_bytes(dims) or sign_code_bytes(bits)
  float step;               // of the query's codes (PlaneLine); not read for signs
  float start;
  float factor;         // certain_factor() of the request, read for signs only
  double inverse_norm;  // of the query
  double scale;         // of its codes (QuantizedQuery), read for signs only
  float* products;      // [planes.lists + planes.signs.bits], device memory that the launch overwrites
};

// Returns the shape that these launches have in place of a model's.
ScanShape list_scan_shape(const ScanShape& shape, int64_t dims, int64_t code_bytes);

// Raise a kernel's shared memory limit as needed. Call them once per shape of a model.
cudaError_t prepare_plane_scan(const ScanShape& shape);
cudaError_t prepare_sign_scan(const ScanShape& shape);

// Start a scan and return without waiting for it. `shape` is a list_scan_shape(). That of signs REQUIRES:
// compute capability 8.0 or later.
cudaError_t launch_plane_scan(const PlaneScanParams& params, const ScanShape& shape, cudaStream_t stream);
cudaError_t launch_sign_scan(const PlaneScanParams& params, const ScanShape& shape, cudaStream_t stream);

}  // namespace glove::gpu
