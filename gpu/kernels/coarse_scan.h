// Answers one query in one cooperative launch, as single_scan.h does, from the 4-bit codes of all rows: exact
// similarities of promising rows yield a threshold; the packed rows and then the vectors of the rows whose
// bounds reach it are looked up. Host code may include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpu/kernels/single_scan.h"

namespace glove::gpu {

struct CoarseScanParams {
  SingleScanParams scan;   // with part.vectors, part.coarse and part.packed_rows
  int32_t code_sum;        // the sum of the query's codes
  int32_t seeds_per_warp;  // rows that a warp scores for the threshold: 1 to 32
};

// Returns how many rows each warp should score for a threshold that admits few rows besides the best
// `top_rows`: the more, the likelier are those among them.
int32_t seeds_per_warp(const ScanShape& shape, int64_t top_rows);

// Raises the kernel's shared memory limit as needed. Call it once per shape.
cudaError_t prepare_coarse_scan(const ScanShape& shape);

// Starts the scan and returns without waiting for it.
cudaError_t launch_coarse_scan(const CoarseScanParams& coarse, const ScanShape& shape, cudaStream_t stream);

}  // namespace glove::gpu
