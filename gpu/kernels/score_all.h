// Computes D(q, x) for every row of a model. Host code may include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace glove::gpu {

// vectors [rows, dims], query [dims] and dots [rows] are in device memory.
cudaError_t launch_score_all(const float* vectors, const float* query, int64_t rows, int32_t dims,
                             double* dots, cudaStream_t stream);

}  // namespace glove::gpu
