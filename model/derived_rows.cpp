#include "model/derived_rows.h"

#include <algorithm>
#include <cmath>

#include "base/float_environment.h"
#include "base/require.h"
#include "base/thread_pool.h"
#include "model/exact_dot.h"
#include "model/nibbles.h"
#include "model/quantize.h"

namespace glove {

int64_t padded_dims(int64_t dims) {
  return component_groups(dims) * kTileComponents;
}

void DerivedLevel::resize(int64_t rows, int64_t bytes, bool is_shifted) {
  const auto count = static_cast<size_t>(rows);
  row_bytes = bytes;
  scales.resize(count);
  residuals.resize(count);
  along.resize(is_shifted ? count : 0);
  lengths.resize(is_shifted ? count : 0);
  codes.resize(count * static_cast<size_t>(bytes));
}

void DerivedRows::resize(int64_t rows, int64_t dims) {
  norms_squared.resize(static_cast<size_t>(rows));
  level8.resize(rows, padded_dims(dims), coding != nullptr);
  if (has_level4) level4.resize(rows, nibble_words(dims) * kNibbleWordBytes);
}

void DerivedRows::compute(int64_t row, const float* x, double norm_squared, int64_t dims) {
  GLOVE_REQUIRE(row >= 0 && row < static_cast<int64_t>(norms_squared.size()));
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  const auto i = static_cast<size_t>(row);
  int8_t* const bytes = level8.row_codes(row);
  std::fill(bytes + level8.row_bytes - kTileComponents, bytes + level8.row_bytes, int8_t{0});
  norms_squared[i] = norm_squared;
  const ShiftedRow coded = quantize_row_by(coding, x, norm_squared, dims, bytes, kTileComponents);
  level8.scales[i] = coded.scale;
  level8.residuals[i] = coded.residual;
  if (coding != nullptr) {
    level8.along[i] = coded.along;
    level8.lengths[i] = coded.length;
  }
  if (!has_level4) return;
  quantize_row_nibbles(x, norm_squared, dims, level4.row_codes(row), kNibbleWordBytes, level4.scales[i],
                       level4.residuals[i]);
}

Result<std::optional<int64_t>> derive_rows(std::span<const float> vectors, int64_t dims, int threads,
                                           DerivedRows& derived, const InterruptCheck& interrupted) {
  constexpr int64_t kChunkComponents = int64_t{1} << 18;  // about a millisecond
  const ScopedFloatEnvironment environment;
  const int64_t rows = static_cast<int64_t>(vectors.size()) / dims;
  derived.resize(rows, dims);
  const int64_t step = std::max<int64_t>(1, kChunkComponents / dims);
  const auto work = [&](int, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const float* const x = vectors.data() + row * dims;
      const double norm_squared = exact_dot(x, x, dims);
      derived.norms_squared[static_cast<size_t>(row)] = norm_squared;
      // Products of finite floats cannot overflow a double.
      if (std::isfinite(norm_squared)) derived.compute(row, x, norm_squared, dims);
    }
  };
  GLOVE_RETURN_IF_ERROR(ThreadPool::for_pieces(thread_count(threads), rows, step, interrupted, work));
  const auto fault = std::find_if(derived.norms_squared.begin(), derived.norms_squared.end(),
                                  [](double value) { return !std::isfinite(value); });
  if (fault == derived.norms_squared.end()) return std::optional<int64_t>();
  return std::optional<int64_t>(fault - derived.norms_squared.begin());
}

}  // namespace glove
