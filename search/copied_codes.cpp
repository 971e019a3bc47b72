#include "search/copied_codes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/thread_pool.h"
#include "model/quantize.h"

namespace glove {
namespace {

// Tiles that are copied between two checks for an interrupt.
constexpr int64_t kTilesAtOnce = 32;

}  // namespace

int64_t CopiedCodes::bytes(int64_t rows, int64_t dims) {
  return code_bytes(rows, dims) + rows * static_cast<int64_t>(sizeof(int32_t) + 2 * sizeof(float));
}

CopiedCodes::CopiedCodes(const Model& model, std::vector<int32_t> copied, double next_length)
    : rows_(std::move(copied)), next_length_(next_length) {
  const auto rows = static_cast<int64_t>(rows_.size());
  codes_.resize(static_cast<size_t>(code_bytes(rows, model.dims())));
  const CodeLevel& level = model.parts().front().level(8);
  if (!level.scales.empty()) {  // else rows of bits
    scales_.resize(rows_.size());
    residuals_.resize(rows_.size());
  }
  if (!level.along.empty()) {
    along_.resize(rows_.size());
    lengths_.resize(rows_.size());
  }
  part_.rows = rows;
  part_.dims = model.dims();
  part_.levels = {{8, codes_, scales_, residuals_, along_, lengths_}};
}

Result<CopiedCodesPtr> CopiedCodes::copy(const Model& model, std::vector<int32_t> rows, int threads,
                                         const InterruptCheck& interrupted, double next_length) {
  const std::shared_ptr<CopiedCodes> made(new CopiedCodes(model, std::move(rows), next_length));
  GLOVE_RETURN_IF_ERROR(ThreadPool::for_pieces(threads, tile_count(made->part_.rows), kTilesAtOnce,
                                               interrupted, [&](int, int64_t first, int64_t last) {
                                                 for (int64_t tile = first; tile < last; ++tile)
                                                   made->copy_tile(model, tile);
                                               }));
  return CopiedCodesPtr(made);
}

// The rows' words are copied group by group, because a processor then waits for all rows at the same time.
void CopiedCodes::copy_tile(const Model& model, int64_t tile) {
  constexpr auto kGroupBytes = static_cast<size_t>(kTileRows * kTileComponents);
  std::array<const int8_t*, kTileRows> from{};
  const auto first = static_cast<size_t>(tile * kTileRows);
  const size_t count = std::min(static_cast<size_t>(kTileRows), rows_.size() - first);
  for (size_t i = 0; i < count; ++i) {
    const ModelPart& part = model.part_of(rows_[first + i]);
    const int64_t row = rows_[first + i] - part.first_row;
    const CodeLevel& level = part.level(8);
    from[i] = level.codes.data() + code_index(row, 0, part.dims);
    if (scales_.empty()) continue;
    scales_[first + i] = level.scales[static_cast<size_t>(row)];
    residuals_[first + i] = level.residuals[static_cast<size_t>(row)];
    if (along_.empty()) continue;
    along_[first + i] = level.along[static_cast<size_t>(row)];
    lengths_[first + i] = level.lengths[static_cast<size_t>(row)];
  }
  int8_t* to = codes_.data() + code_index(tile * kTileRows, 0, part_.dims);
  for (int64_t group = 0; group < component_groups(part_.dims); ++group, to += kGroupBytes) {
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(to + i * kTileComponents, from[i], kTileComponents);
      from[i] += kGroupBytes;
    }
    std::memset(to + count * kTileComponents, 0, kGroupBytes - count * kTileComponents);
  }
}

}  // namespace glove
