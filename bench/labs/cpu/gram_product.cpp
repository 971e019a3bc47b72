#include "bench/labs/cpu/gram_product.h"

#include <algorithm>
#include <vector>

#include "bench/labs/cpu/parallel.h"
#include "bench/labs/cpu/vectors.h"

namespace glove::labs {
namespace {

constexpr int64_t kBlocks = 8;  // of rows, each with sums of its own
constexpr int64_t kLine = 8;    // doubles per line of the cache

double sum_of(Doubles v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// The dot products of kRows rows with x.
template <int kRows>
void dot_rows(const double* a, const double* x, int64_t columns, double* dots) {
  Doubles even[kRows] = {};
  Doubles odd[kRows] = {};
  int64_t j = 0;
  for (; j + 2 * kDoubles <= columns; j += 2 * kDoubles)
    for (int r = 0; r < kRows; ++r) {
      even[r] += load<Doubles>(a + r * columns + j) * load<Doubles>(x + j);
      odd[r] += load<Doubles>(a + r * columns + j + kDoubles) * load<Doubles>(x + j + kDoubles);
    }
  for (int r = 0; r < kRows; ++r) {
    dots[r] = sum_of(even[r] + odd[r]);
    for (int64_t k = j; k < columns; ++k) dots[r] += a[r * columns + k] * x[k];
  }
}

// Adds kRows rows times their factors to y. `next`: null, or what to bring into the cache meanwhile, as many
// values as the rows have.
template <int kRows>
void add_rows(const double* a, const double* dots, int64_t columns, const double* next, double* y) {
  int64_t j = 0;
  for (; j + kDoubles <= columns; j += kDoubles) {
    if (next != nullptr)
      for (int r = 0; r < kRows; ++r) __builtin_prefetch(next + (j / kLine * kRows + r) * kLine, 0, 2);
    Doubles sum = load<Doubles>(y + j);
    for (int r = 0; r < kRows; ++r) sum += dots[r] * load<Doubles>(a + r * columns + j);
    store(sum, y + j);
  }
  for (; j < columns; ++j)
    for (int r = 0; r < kRows; ++r) y[j] += dots[r] * a[r * columns + j];
}

template <int kRows>
void add_block(const GramProduct& task, int64_t first, int64_t last, bool ahead, double* y) {
  int64_t row = first;
  for (; row + kRows <= last; row += kRows) {
    const double* const a = task.a + row * task.columns;
    double dots[kRows];
    dot_rows<kRows>(a, task.x, task.columns, dots);
    const bool more = ahead && row + 2 * kRows <= last;
    add_rows<kRows>(a, dots, task.columns, more ? a + kRows * task.columns : nullptr, y);
  }
  for (; row < last; ++row) {
    double dot = 0;
    dot_rows<1>(task.a + row * task.columns, task.x, task.columns, &dot);
    add_rows<1>(task.a + row * task.columns, &dot, task.columns, nullptr, y);
  }
}

}  // namespace

void lab_gram_product(const GramProduct& task) {
  for (int64_t i = 0; i < task.rows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < task.columns; ++j) sum += task.a[i * task.columns + j] * task.x[j];
    task.dots[i] = sum;
  }
  for (int64_t j = 0; j < task.columns; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < task.rows; ++i) sum += task.a[i * task.columns + j] * task.dots[i];
    task.y[j] = sum;
  }
}

void two_passes(const GramProduct& task) {
  for (int64_t i = 0; i < task.rows; ++i)
    dot_rows<1>(task.a + i * task.columns, task.x, task.columns, task.dots + i);
  std::fill(task.y, task.y + task.columns, 0.0);
  for (int64_t i = 0; i < task.rows; ++i)
    add_rows<1>(task.a + i * task.columns, task.dots + i, task.columns, nullptr, task.y);
}

void fused_gram_product(const GramProduct& task, int threads, int at_once, bool ahead) {
  // Kept for the next call: fresh memory would be mapped and cleared page by page, which takes 5 % of a call.
  thread_local std::vector<double> kept;
  kept.resize(static_cast<size_t>(kBlocks * task.columns));
  double* const sums = kept.data();
  const int64_t step = (task.rows + kBlocks - 1) / kBlocks;
  in_parallel(threads, kBlocks, [&](int64_t block) {
    const int64_t first = std::min(task.rows, block * step);
    const int64_t last = std::min(task.rows, first + step);
    double* const y = sums + block * task.columns;
    std::fill(y, y + task.columns, 0.0);
    if (at_once == 4)
      add_block<4>(task, first, last, ahead, y);
    else
      add_block<1>(task, first, last, ahead, y);
  });
  for (int64_t j = 0; j < task.columns; ++j) {
    double sum = 0;
    for (int64_t block = 0; block < kBlocks; ++block) sum += sums[block * task.columns + j];
    task.y[j] = sum;
  }
}

}  // namespace glove::labs
