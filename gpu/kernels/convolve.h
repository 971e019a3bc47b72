// Convolution of a matrix in device memory, with the bits that analysis/convolve.h specifies. Host code may
// include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace glove::gpu {

// A matrix, a kernel, and the rows of the result that a launch computes.
template <class Value>
struct ConvolveParams {
  const Value* in;       // [rows, columns], aligned to 16 bytes
  const Value* weights;  // [height, width], both odd
  int64_t rows;
  int32_t columns;
  int32_t height;
  int32_t width;
  int64_t first_row;
  int64_t end_row;
  Value* out;  // [rows, columns], aligned to 16 bytes
};

// Rows that a launch computes at most.
constexpr int64_t kMostConvolvedRows = 4 * 65535;

// REQUIRES: columns + width < 2^31; 0 < end_row - first_row <= kMostConvolvedRows.
cudaError_t launch_convolve(const ConvolveParams<double>& params, cudaStream_t stream);

}  // namespace glove::gpu
