#include "bench/analysis/labs/convolution.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/analysis/labs/parallel.h"
#include "bench/analysis/labs/vectors.h"

namespace glove::labs {
namespace {

constexpr int64_t kRowsPerPart = 64;

float value_at(const Convolution& task, int64_t i, int64_t j) {
  return i >= 0 && i < task.rows && j >= 0 && j < task.columns ? task.in[i * task.columns + j] : 0.0F;
}

float convolve_one(const Convolution& task, int64_t i, int64_t j) {
  float sum = 0;
  for (int64_t a = 0; a < 3; ++a)
    for (int64_t b = 0; b < 3; ++b) sum += task.weights[a][b] * value_at(task, i + 1 - a, j + 1 - b);
  return sum;
}

// One row of the result. `zeros`: [columns], in place of rows beyond the border.
void convolve_row(const Convolution& task, int64_t i, const float* zeros, bool past_caches) {
  const float* rows[3];
  for (int64_t a = 0; a < 3; ++a) {
    const int64_t from = i + 1 - a;
    rows[a] = from >= 0 && from < task.rows ? task.in + from * task.columns : zeros;
  }
  float* const out = task.out + i * task.columns;
  const bool aligned = reinterpret_cast<uintptr_t>(out) % sizeof(Floats) == 0;
  int64_t j = 0;
  for (; j < std::min<int64_t>(kFloats, task.columns); ++j) out[j] = convolve_one(task, i, j);
  for (; j + kFloats + 1 <= task.columns; j += kFloats) {
    Floats sum = {};
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) sum += task.weights[a][b] * load<Floats>(rows[a] + j + 1 - b);
    if (past_caches && aligned)
      store_past_caches(sum, out + j);
    else
      store(sum, out + j);
  }
  for (; j < task.columns; ++j) out[j] = convolve_one(task, i, j);
}

}  // namespace

void lab_convolution(const Convolution& task) {
  for (int64_t i = 0; i < task.rows; ++i)
    for (int64_t j = 0; j < task.columns; ++j) task.out[i * task.columns + j] = convolve_one(task, i, j);
}

void convolve_rows(const Convolution& task, int threads, bool past_caches) {
  const std::vector<float> zeros(static_cast<size_t>(task.columns));
  in_parallel(threads, (task.rows + kRowsPerPart - 1) / kRowsPerPart, [&](int64_t part) {
    const int64_t last = std::min(task.rows, (part + 1) * kRowsPerPart);
    for (int64_t i = part * kRowsPerPart; i < last; ++i) convolve_row(task, i, zeros.data(), past_caches);
  });
}

void copy_rows(const Convolution& task, int threads) {
  in_parallel(threads, (task.rows + kRowsPerPart - 1) / kRowsPerPart, [&](int64_t part) {
    const int64_t first = part * kRowsPerPart * task.columns;
    const int64_t last = std::min(task.rows, (part + 1) * kRowsPerPart) * task.columns;
    int64_t j = first;
    for (; j + kFloats <= last; j += kFloats) store_past_caches(load<Floats>(task.in + j), task.out + j);
    for (; j < last; ++j) task.out[j] = task.in[j];
  });
}

}  // namespace glove::labs
