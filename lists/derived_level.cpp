#include "lists/derived_level.h"

#include <algorithm>

#include "base/float_environment.h"
#include "base/thread_pool.h"
#include "model/nibbles.h"

namespace glove {
namespace {

constexpr int64_t kRowsPerPiece = 32 * kTileRows;

}  // namespace

Result<DerivedLevel4> derive_level4(const ModelPart& part, int threads, const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  DerivedLevel4 level;
  level.codes.resize(static_cast<size_t>(nibble_bytes(part.rows, part.dims)));
  level.scales.resize(static_cast<size_t>(part.rows));
  level.residuals.resize(static_cast<size_t>(part.rows));
  const int64_t tile_bytes = nibble_bytes(kTileRows, part.dims);
  const auto derive = [&](int, int64_t first, int64_t last) {
    std::fill(level.codes.begin() + first / kTileRows * tile_bytes,
              level.codes.begin() + tile_count(last) * tile_bytes, int8_t{0});
    for (int64_t row = first; row < last; ++row)
      quantize_row_nibbles(part.vector(row), part.norm_squared(row), part.dims,
                           level.codes.data() + nibble_index(row, 0, part.dims), kTileRows * kNibbleWordBytes,
                           level.scales[static_cast<size_t>(row)], level.residuals[static_cast<size_t>(row)]);
  };
  GLOVE_RETURN_IF_ERROR(
      ThreadPool::for_pieces(thread_count(threads), part.rows, kRowsPerPiece, interrupted, derive));
  return level;
}

}  // namespace glove
