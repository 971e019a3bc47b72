// Column sums, A^T A x and second moments of rows in device memory, with the bits that analysis/moments.h
// specifies. A launch computes the sums of some blocks of kMomentBlock rows; launch_add_blocks adds them in
// order. Host code may include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpu/layout/gram_plan.h"

namespace glove::gpu {

// Rows in device memory and what is summed of them.
struct MomentParams {
  const float* vectors;  // [rows, dims]
  int64_t rows;
  int32_t dims;
  const double* weights;  // [rows], or null: all 1. A row of weight 0 is left out.
  int32_t first_block;    // the block of rows that the launch begins with
  double* sums;           // out: [blocks, size of a sum]
};

// sums[b][j] = the sum of weights[i] * x_ij over the rows of block first_block + b. A sum's size is dims.
// REQUIRES: dims <= 4096.
cudaError_t launch_column_sums(const MomentParams& params, int32_t blocks, cudaStream_t stream);

// The same with the weights D(vector, x_i), so that each row is read from memory once.
//   vector  [dims]
cudaError_t launch_gram_product(const MomentParams& params, const float* vector, int32_t blocks,
                                cudaStream_t stream);

// A GramPlan in device memory.
struct GramShape {
  int32_t groups;
  int32_t warps;
  int32_t panel;
  int32_t width;
  const GramTile* tiles;
  const GramGroup* group_of;
};

// sums[b] = the sums of y_i * y_j over the rows of block first_block + b, laid out as unfold_gram() takes
// them. A sum's size is GramPlan::size().
//   center        [dims]
//   tensor_cores  whether the tensor cores may multiply, which launch_check_products() must have allowed
cudaError_t launch_second_moment(const MomentParams& params, const GramShape& shape, const float* center,
                                 int32_t blocks, bool tensor_cores, cudaStream_t stream);

// Adds to *differences how many of some random sums of products (gpu/primitives/warp/matrix.cuh) the
// tensor cores compute otherwise than fma() would.
cudaError_t launch_check_products(uint32_t* differences, cudaStream_t stream);

// total[i] += sums[0][i], then sums[1][i], and so on.
//   sums  [blocks, size];  total  [size]
cudaError_t launch_add_blocks(const double* sums, int32_t blocks, int64_t size, double* total,
                              cudaStream_t stream);

}  // namespace glove::gpu
