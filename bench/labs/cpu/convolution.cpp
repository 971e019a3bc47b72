#include "bench/labs/cpu/convolution.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/labs/cpu/parallel.h"
#include "bench/labs/cpu/vectors.h"

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

// kRows rows of the result from row i on, sixteen values at a time from column j on. The values of input row
// r of kRows + 2 begin at from[r], which is column j - 1.
template <int kRows>
void convolve_vector(const Convolution& task, const float* const (&from)[kRows + 2], Floats (&sums)[kRows]) {
  for (Floats& sum : sums) sum = Floats{};
#pragma GCC unroll 8
  for (int r = 0; r < kRows + 2; ++r)
#pragma GCC unroll 3
    for (int b = 0; b < 3; ++b) {
      const Floats values = load<Floats>(from[r] + 2 - b);
#pragma GCC unroll 8
      for (int to = 0; to < kRows; ++to)
        if (to + 2 - r >= 0 && to + 2 - r < 3) sums[to] += task.weights[to + 2 - r][b] * values;
    }
}

// The first or last columns of the rows, which need zeros beyond the border.
template <int kRows>
void convolve_edge(const Convolution& task, const float* const (&rows)[kRows + 2], int64_t i, int64_t first,
                   int64_t last) {
  float padded[kRows + 2][kFloats + 2] = {};
  const float* from[kRows + 2];
  for (int r = 0; r < kRows + 2; ++r) {
    for (int64_t j = std::max<int64_t>(0, first - 1); j < std::min(task.columns, last + 1); ++j)
      padded[r][j - first + 1] = rows[r][j];
    from[r] = padded[r];
  }
  Floats sums[kRows];
  convolve_vector<kRows>(task, from, sums);
  for (int to = 0; to < kRows; ++to)
    for (int64_t j = first; j < last; ++j) task.out[(i + to) * task.columns + j] = sums[to][j - first];
}

// kRows rows of the result. `zeros`: [columns], in place of rows beyond the border.
template <int kRows>
void convolve_band(const Convolution& task, int64_t i, const float* zeros, bool past_caches) {
  const float* rows[kRows + 2];
  for (int64_t r = 0; r < kRows + 2; ++r) {
    const int64_t from = i - 1 + r;
    rows[r] = from >= 0 && from < task.rows ? task.in + from * task.columns : zeros;
  }
  float* const out = task.out + i * task.columns;
  const bool aligned =
      (reinterpret_cast<uintptr_t>(out) | static_cast<uintptr_t>(task.columns * 4)) % 64 == 0;
  int64_t j = std::min<int64_t>(kFloats, task.columns);
  convolve_edge<kRows>(task, rows, i, 0, j);
  for (; j + kFloats + 1 <= task.columns; j += kFloats) {
    const float* from[kRows + 2];
    for (int r = 0; r < kRows + 2; ++r) from[r] = rows[r] + j - 1;
    Floats sums[kRows];
    convolve_vector<kRows>(task, from, sums);
    for (int to = 0; to < kRows; ++to)
      if (past_caches && aligned)
        store_past_caches(sums[to], out + to * task.columns + j);
      else
        store(sums[to], out + to * task.columns + j);
  }
  if (j < task.columns) convolve_edge<kRows>(task, rows, i, j, task.columns);
}

}  // namespace

void lab_convolution(const Convolution& task) {
  for (int64_t i = 0; i < task.rows; ++i)
    for (int64_t j = 0; j < task.columns; ++j) task.out[i * task.columns + j] = convolve_one(task, i, j);
}

void convolve_rows(const Convolution& task, int threads, int at_once, bool past_caches) {
  const std::vector<float> zeros(static_cast<size_t>(task.columns));
  in_parallel(threads, (task.rows + kRowsPerPart - 1) / kRowsPerPart, [&](int64_t part) {
    const int64_t last = std::min(task.rows, (part + 1) * kRowsPerPart);
    int64_t i = part * kRowsPerPart;
    for (; at_once == 4 && i + 4 <= last; i += 4) convolve_band<4>(task, i, zeros.data(), past_caches);
    for (; i < last; ++i) convolve_band<1>(task, i, zeros.data(), past_caches);
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
