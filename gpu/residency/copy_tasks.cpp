#include "gpu/residency/copy_tasks.h"

#include <array>
#include <limits>

#include "model/quantize.h"

namespace glove::gpu {
namespace {

// What zero rows have: the scale 0 and an infinite residual.
constexpr std::array<float, kTileRows> kZeroScales = {};
constexpr auto kZeroResiduals = [] {
  std::array<float, kTileRows> residuals{};
  residuals.fill(std::numeric_limits<float>::infinity());
  return residuals;
}();

}  // namespace

void CopyTasks::add_bytes(std::span<const std::byte> bytes, int64_t to) {
  CopyTask task;
  task.device_offset = to;
  task.bytes = static_cast<int64_t>(bytes.size());
  if (const auto place = model_.place_in_file(bytes)) {
    task.descriptor = place->descriptor;
    task.offset = place->offset;
  } else {
    task.memory = bytes.data();
  }
  tasks_.push_back(task);
}

// Adds as many numbers of `padding` as rows are missing in the last tile.
void CopyTasks::add_padding(std::span<const float> padding, int64_t rows, int64_t to) {
  const auto missing = static_cast<size_t>(tile_count(rows) * kTileRows - rows);
  const auto bytes = std::as_bytes(padding.first(missing));
  if (missing > 0) tasks_.push_back({bytes.data(), -1, 0, to, static_cast<int64_t>(bytes.size())});
}

void CopyTasks::add_scales(std::span<const float> scales, int64_t to) {
  add(scales, to);
  add_padding(kZeroScales, static_cast<int64_t>(scales.size()),
              to + static_cast<int64_t>(scales.size_bytes()));
}

void CopyTasks::add_residuals(std::span<const float> residuals, int64_t to) {
  add(residuals, to);
  add_padding(kZeroResiduals, static_cast<int64_t>(residuals.size()),
              to + static_cast<int64_t>(residuals.size_bytes()));
}

}  // namespace glove::gpu
