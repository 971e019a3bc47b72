// Column sums and second moments of rows, on several threads.
#pragma once

#include <span>

#include "analysis/moments.h"
#include "analysis/points.h"
#include "cpu/kernels/kernels.h"

namespace glove::cpu {

// Analysis::column_sums, Analysis::gram_product and Analysis::second_moment, on at most `threads` threads.
Status column_sums(const Kernels& kernels, int threads, const Points& points, std::span<const double> weights,
                   std::span<double> sums, const InterruptCheck& interrupted);
Status gram_product(const Kernels& kernels, int threads, const Points& points, std::span<const float> vector,
                    std::span<double> product, const InterruptCheck& interrupted);
Status second_moment(const Kernels& kernels, int threads, const Points& points, const MomentRows& rows,
                     std::span<double> moment, const InterruptCheck& interrupted);

}  // namespace glove::cpu
