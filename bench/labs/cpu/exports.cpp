// The CPU ladders of the course labs for bench/labs/labs.py, which runs them beside NumPy and SciPy on
// the same arrays. Each function does step `step` of its ladder and returns 0, or 1 if there is no such step.
#include <cstdint>

#include "bench/labs/cpu/convolution.h"
#include "bench/labs/cpu/covariance.h"
#include "bench/labs/cpu/gram_product.h"

using namespace glove::labs;

extern "C" [[gnu::visibility("default")]] int labs_gram_product(int step, int threads, const double* a,
                                                                const double* x, int64_t rows,
                                                                int64_t columns, double* dots, double* y) {
  const GramProduct task = {a, x, rows, columns, dots, y};
  switch (step) {
    case 0:
      lab_gram_product(task);
      return 0;
    case 1:
      two_passes(task);
      return 0;
    case 2:
      fused_gram_product(task, 1, 1, false);
      return 0;
    case 3:
      fused_gram_product(task, threads, 1, false);
      return 0;
    case 4:
      fused_gram_product(task, threads, 4, false);
      return 0;
    case 5:
      fused_gram_product(task, threads, 4, true);
      return 0;
    default:
      return 1;
  }
}

extern "C" [[gnu::visibility("default")]] int labs_convolution(int step, int threads, const float* in,
                                                               int64_t rows, int64_t columns,
                                                               const float* weights, float* out) {
  Convolution task = {in, rows, columns, {}, out};
  for (int i = 0; i < 9; ++i) task.weights[i / 3][i % 3] = weights[i];
  switch (step) {
    case 0:
      lab_convolution(task);
      return 0;
    case 1:
      convolve_rows(task, 1, 1, false);
      return 0;
    case 2:
      convolve_rows(task, threads, 1, false);
      return 0;
    case 3:
      convolve_rows(task, threads, 4, false);
      return 0;
    case 4:
      convolve_rows(task, threads, 4, true);
      return 0;
    case 5:
      copy_rows(task, threads);
      return 0;
    default:
      return 1;
  }
}

extern "C" [[gnu::visibility("default")]] int labs_covariance(int step, int threads, const double* a,
                                                              int64_t rows, int64_t columns,
                                                              double* covariance) {
  const Covariance task = {a, rows, columns, covariance};
  switch (step) {
    case 0:
      lab_covariance(task);
      return 0;
    case 1:
      transposed_covariance(task);
      return 0;
    case 2:
      tiled_covariance(task, 1);
      return 0;
    case 3:
      tiled_covariance(task, threads);
      return 0;
    default:
      return 1;
  }
}
