// The inner loops of column sums and second moments, one table of function pointers per instruction set.
#pragma once

#include <cstdint>

namespace glove::cpu {

// Tiles of a second moment: kGramRows rows of the matrix by some columns, which may reach kGramMargin past
// the last.
constexpr int64_t kGramRows = 4;
constexpr int64_t kGramMargin = 24;

// Columns of a buffer of y and of a matrix that update_gram() works on.
constexpr int64_t gram_stride(int64_t dims) {
  return (dims + kGramRows - 1) / kGramRows * kGramRows + kGramMargin;
}

// The loops of one instruction set. The functions keep no state and may run on any thread.
struct MomentKernels {
  // sums[j] += weight * x[j]; the product and the sum are rounded to double one after the other.
  void (*add_row)(const float* x, double weight, int64_t dims, double* sums);

  // y[j] = (float)(weight * x[j] - center[j]).
  //   center  [dims]
  void (*center_row)(const float* x, double weight, const double* center, int64_t dims, double* y);

  // matrix[i][j] += y[row][i] * y[row][j], row by row, for i in [first, last) and at least j in [i, dims).
  //   y       [rows][gram_stride(dims)], products exact in double, zeros past dims
  //   matrix  [at least last rounded up to kGramRows][gram_stride(dims)]
  // REQUIRES: first is a multiple of kGramRows.
  void (*update_gram)(const double* y, int64_t rows, int64_t dims, int64_t first, int64_t last,
                      double* matrix);
};

extern const MomentKernels kScalarMomentKernels;

}  // namespace glove::cpu
