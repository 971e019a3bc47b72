// Dot products, column sums and second moments of rows, on several threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "analysis/moments.h"
#include "analysis/points.h"
#include "cpu/kernels/kernels.h"

namespace glove::cpu {

// The rows of a chunk of work: enough to be worth scheduling, and a few ms at most.
constexpr int64_t rows_per_chunk(int64_t dims) {
  constexpr int64_t kFewestRows = 64, kChunkValues = 256 << 10;
  return std::max(kFewestRows, kChunkValues / dims);
}

// Analysis::dots and Analysis::sum_rows on at most `threads` threads.
Status dots(const Kernels& kernels, int threads, const Points& points, std::span<const float> vector,
            std::span<double> dots, const InterruptCheck& interrupted);
Status sum_rows(const Kernels& kernels, int threads, const Points& points, const RowSums& what,
                const InterruptCheck& interrupted);

}  // namespace glove::cpu
