// The portable loop of convolutions.
#include <algorithm>

#include "cpu/kernels/convolve_kernels.h"

namespace glove::cpu {
namespace {

void convolve_row(const Convolution& task, int64_t i, int64_t first, int64_t last) {
  double* const out = task.out + i * task.columns;
  std::fill(out + first, out + last, 0.0);
  const int64_t lowest = i + task.height / 2;  // the row of the grid that meets the first row of weights
  for (int64_t a = std::max<int64_t>(0, lowest - task.rows + 1); a <= std::min(task.height - 1, lowest); ++a)
    for (int64_t b = 0; b < task.width; ++b) {
      const double weight = task.weights[a * task.width + b];
      const double* const x = task.grid + (lowest - a) * task.stride + task.width - 1 - b;
      for (int64_t j = first; j < last; ++j) out[j] += weight * x[j];
    }
}

}  // namespace

void convolve_rows_scalar(const Convolution& task, int64_t i, int64_t first, int64_t last) {
  for (int64_t row = i; row < std::min(task.rows, i + kConvolvedRows); ++row)
    convolve_row(task, row, first, last);
}

}  // namespace glove::cpu
