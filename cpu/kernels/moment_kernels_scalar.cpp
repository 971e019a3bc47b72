// The portable kernels of column sums and second moments.
#include "cpu/kernels/moment_kernels.h"

namespace glove::cpu {
namespace {

void add_row(const float* x, double weight, int64_t dims, double* sums) {
  for (int64_t j = 0; j < dims; ++j) sums[j] += weight * static_cast<double>(x[j]);
}

void center_row(const float* x, double weight, const double* center, int64_t dims, double* y) {
  for (int64_t j = 0; j < dims; ++j)
    y[j] = static_cast<double>(static_cast<float>(weight * static_cast<double>(x[j]) - center[j]));
}

void update_gram(const double* y, int64_t rows, int64_t dims, int64_t first, int64_t last, double* matrix) {
  const int64_t stride = gram_stride(dims);
  for (int64_t i = first; i < last; ++i)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = i; j < dims; ++j) matrix[i * stride + j] += y[row * stride + i] * y[row * stride + j];
}

}  // namespace

const MomentKernels kScalarMomentKernels = {add_row, center_row, update_gram};

}  // namespace glove::cpu
