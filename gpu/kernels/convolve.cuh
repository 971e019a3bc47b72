// The kernels of convolutions, for values of float or double.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpu/kernels/convolve.h"
#include "gpu/kernels/launch.cuh"

namespace glove::gpu {

constexpr int kConvolveThreads = 128;
constexpr int kConvolvedRows = 4;     // per thread
constexpr int kConvolvedColumns = 2;  // per thread of convolve_kernel
template <class Value>
constexpr int kPieceValues = 16 / static_cast<int>(sizeof(Value));  // what a thread reads at once

// Rounds the product and then the sum.
__device__ inline double plus_product(double sum, double weight, double value) {
  return __dadd_rn(sum, __dmul_rn(weight, value));
}
__device__ inline float plus_product(float sum, float weight, float value) {
  return __fadd_rn(sum, __fmul_rn(weight, value));
}

// Adds a row of weights times the row of the matrix to the sums of a thread's columns in one row of the
// result.
//   column  the one that the first weight meets in the thread's first column; the next column lies
//           kConvolveThreads further on
template <class Value>
__device__ void add_weighted_row(const ConvolveParams<Value>& params, const Value* row, const Value* weights,
                                 int column, Value (&sums)[kConvolvedColumns]) {
  for (int b = 0; b < params.width; ++b, --column) {
    const Value weight = __ldg(weights + b);
#pragma unroll
    for (int k = 0; k < kConvolvedColumns; ++k) {
      const int from = column + k * kConvolveThreads;
      const bool inside = static_cast<unsigned>(from) < static_cast<unsigned>(params.columns);
      sums[k] = plus_product(sums[k], weight, inside ? __ldg(row + from) : Value{0});
    }
  }
}

// The same for all rows of the result, which the rows of weights from `weights` on meet.
template <class Value>
__device__ void add_weighted_rows(const ConvolveParams<Value>& params, const Value* row, const Value* weights,
                                  int column, Value (&sums)[kConvolvedRows][kConvolvedColumns]) {
#pragma unroll 2
  for (int b = 0; b < params.width; ++b, --column) {
    Value values[kConvolvedColumns];
#pragma unroll
    for (int k = 0; k < kConvolvedColumns; ++k) {
      const int from = column + k * kConvolveThreads;
      const bool inside = static_cast<unsigned>(from) < static_cast<unsigned>(params.columns);
      values[k] = inside ? __ldg(row + from) : Value{0};
    }
#pragma unroll
    for (int c = 0; c < kConvolvedRows; ++c) {
      const Value weight = __ldg(weights + c * params.width + b);
#pragma unroll
      for (int k = 0; k < kConvolvedColumns; ++k) sums[c][k] = plus_product(sums[c][k], weight, values[k]);
    }
  }
}

// A thread computes kConvolvedColumns columns, kConvolveThreads apart, of kConvolvedRows rows. blockIdx.y:
// the rows. The rows of the matrix come from below, so that the rows of weights rise.
template <class Value>
__global__ void __launch_bounds__(kConvolveThreads)
    convolve_kernel(const __grid_constant__ ConvolveParams<Value> params) {
  const int j = static_cast<int>(blockIdx.x) * kConvolvedColumns * kConvolveThreads + threadIdx.x;
  const int64_t i = params.first_row + int64_t{blockIdx.y} * kConvolvedRows;
  const int64_t lowest = i + params.height / 2;  // meets the first weights of the first row
  const int64_t end = max(int64_t{0}, lowest - params.height + 1);
  const int column = j + params.width / 2;
  Value sums[kConvolvedRows][kConvolvedColumns] = {};
  for (int64_t from = min(params.rows - 1, lowest + kConvolvedRows - 1); from >= end; --from) {
    const Value* const row = params.in + from * params.columns;
    const int a = static_cast<int>(lowest - from);  // the row of weights for the first row of the result
    const Value* const weights = params.weights + int64_t{a} * params.width;
    if (a >= 0 && a + kConvolvedRows <= params.height) {
      add_weighted_rows(params, row, weights, column, sums);
      continue;
    }
#pragma unroll
    for (int c = 0; c < kConvolvedRows; ++c)
      if (a + c >= 0 && a + c < params.height)
        add_weighted_row(params, row, weights + int64_t{c} * params.width, column, sums[c]);
  }
#pragma unroll
  for (int c = 0; c < kConvolvedRows; ++c)
#pragma unroll
    for (int k = 0; k < kConvolvedColumns; ++k) {
      const int to = j + k * kConvolveThreads;
      if (i + c < params.end_row && to < params.columns)
        params.out[(i + c) * params.columns + to] = sums[c][k];
    }
}

// Consecutive values of a row with one neighbour on each side.
template <class Value>
struct RowPiece {
  Value values[kPieceValues<Value> + 2];

  // Reads the piece from column j on; zeros if `present` is false, and beyond the border.
  __device__ void read(const Value* row, int j, int columns, bool present) {
    constexpr int kValues = kPieceValues<Value>;
    const int lane = static_cast<int>(threadIdx.x) & 31;
    float4 raw = {0, 0, 0, 0};
    if (present) raw = __ldg(reinterpret_cast<const float4*>(row + j));
    Value piece[kValues];
    memcpy(piece, &raw, sizeof(raw));
#pragma unroll
    for (int k = 0; k < kValues; ++k) values[k + 1] = piece[k];
    values[0] = values[kValues + 1] = Value{0};
    if (lane == 0 && present && j > 0) values[0] = __ldg(row + j - 1);
    if (lane == 31 && present && j + kValues < columns) values[kValues + 1] = __ldg(row + j + kValues);
  }

  // Takes the neighbours from the lanes beside this one. REQUIRES: the whole warp calls it.
  __device__ void exchange() {
    constexpr int kValues = kPieceValues<Value>;
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const Value left = __shfl_up_sync(0xffffffffu, values[kValues], 1);
    const Value right = __shfl_down_sync(0xffffffffu, values[1], 1);
    if (lane > 0) values[0] = left;
    if (lane < 31) values[kValues + 1] = right;
  }
};

// 3 x 3 weights: a thread computes 16 bytes of kConvolvedRows rows. All rows are read at once, and the
// neighbours' values come by shuffles. REQUIRES: columns is a multiple of kPieceValues.
template <class Value>
__global__ void __launch_bounds__(kConvolveThreads)
    convolve_nine_kernel(const __grid_constant__ ConvolveParams<Value> params) {
  constexpr int kValues = kPieceValues<Value>;
  const int j = (static_cast<int>(blockIdx.x) * kConvolveThreads + static_cast<int>(threadIdx.x)) * kValues;
  const int64_t i = params.first_row + int64_t{blockIdx.y} * kConvolvedRows;
  const bool inside = j < params.columns;
  RowPiece<Value> rows[kConvolvedRows + 2];  // from row i - 1 on
#pragma unroll
  for (int r = 0; r < kConvolvedRows + 2; ++r) {
    const int64_t from = i + r - 1;
    rows[r].read(params.in + from * params.columns, j, params.columns,
                 inside && from >= 0 && from < params.rows);
  }
  Value weights[9];
#pragma unroll
  for (int w = 0; w < 9; ++w) weights[w] = __ldg(params.weights + w);
#pragma unroll
  for (int r = 0; r < kConvolvedRows + 2; ++r) rows[r].exchange();
#pragma unroll
  for (int c = 0; c < kConvolvedRows; ++c) {
    Value sums[kValues] = {};
#pragma unroll
    for (int w = 0; w < 9; ++w)
#pragma unroll
      for (int k = 0; k < kValues; ++k)
        sums[k] = plus_product(sums[k], weights[w], rows[c + 2 - w / 3].values[k + 2 - w % 3]);
    float4 raw;
    memcpy(&raw, sums, sizeof(raw));
    if (inside && i + c < params.end_row)
      __stcs(reinterpret_cast<float4*>(params.out + (i + c) * params.columns + j), raw);
  }
}

// Launches the kernel for the size of the weights. REQUIRES: what launch_convolve() requires.
template <class Value>
cudaError_t launch_convolve_rows(const ConvolveParams<Value>& params, cudaStream_t stream) {
  const bool nine = params.height == 3 && params.width == 3 && params.columns % kPieceValues<Value> == 0;
  const int width = kConvolveThreads * (nine ? kPieceValues<Value> : kConvolvedColumns);
  const int64_t rows = (params.end_row - params.first_row + kConvolvedRows - 1) / kConvolvedRows;
  return launch(nine ? convolve_nine_kernel<Value> : convolve_kernel<Value>,
                {(params.columns + width - 1) / width, kConvolveThreads, 0, 0, rows}, stream, params);
}

}  // namespace glove::gpu
