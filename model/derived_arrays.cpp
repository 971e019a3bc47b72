#include "model/derived_arrays.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/float_environment.h"
#include "base/parallel.h"
#include "model/exact_dot.h"
#include "model/quantize.h"
#include "model/vocabulary.h"

namespace glove {

Status DerivedArrays::compute_rows(const std::string& source, std::span<const float> vectors, int64_t rows,
                                   int64_t dims, int threads) {
  const auto count = static_cast<size_t>(rows);
  norms_squared.resize(count);
  codes.resize(static_cast<size_t>(code_bytes(rows, dims)));
  scales.resize(count);
  residuals.resize(count);
  run_in_parallel(threads, tile_count(rows), [&](int64_t first_tile, int64_t last_tile) {
    const ScopedFloatEnvironment environment;
    const int64_t first = first_tile * kTileRows;
    const int64_t last = std::min(rows, last_tile * kTileRows);
    const auto begin = static_cast<size_t>(first);
    const auto length = static_cast<size_t>(last - first);
    for (int64_t row = first; row < last; ++row) {
      const float* const x = vectors.data() + row * dims;
      double& norm_squared = norms_squared[static_cast<size_t>(row)];
      norm_squared = exact_dot(x, x, dims);
      if (!std::isfinite(norm_squared)) return;  // reported below
    }
    quantize_rows(vectors.subspan(begin * static_cast<size_t>(dims), length * static_cast<size_t>(dims)),
                  std::span(norms_squared).subspan(begin, length), first, dims, codes.data(),
                  std::span(scales).subspan(begin, length), std::span(residuals).subspan(begin, length));
  });
  const auto fault = std::find_if(norms_squared.begin(), norms_squared.end(),
                                  [](double value) { return !std::isfinite(value); });
  if (fault == norms_squared.end()) return {};
  return {ErrorCode::kCorrupt, source + ": row " + std::to_string(fault - norms_squared.begin() + 1) +
                                   " of the vectors has a component that is NaN or infinite"};
}

void DerivedArrays::compute_order(std::span<const char> word_bytes, std::span<const int64_t> word_offsets) {
  const Vocabulary words(word_bytes, word_offsets, {});
  sorted_ids.resize(word_offsets.empty() ? 0 : word_offsets.size() - 1);
  std::iota(sorted_ids.begin(), sorted_ids.end(), 0);
  std::sort(sorted_ids.begin(), sorted_ids.end(), [&](int32_t a, int32_t b) {
    const auto order = words.word(a) <=> words.word(b);
    return order != 0 ? order < 0 : a < b;
  });
}

}  // namespace glove
