#include "gpu/residency/model_slice.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/require.h"

namespace glove::gpu {
namespace {

// Returns rows [first, last) of a part. REQUIRES: `first` begins a tile, and `last` ends one or the part.
ModelPart part_between(const ModelPart& whole, int64_t first, int64_t last) {
  GLOVE_REQUIRE(first % kTileRows == 0 && first < last && (last % kTileRows == 0 || last == whole.rows));
  const auto from = static_cast<size_t>(first);
  const auto rows = static_cast<size_t>(last - first);
  const auto dims = static_cast<size_t>(whole.dims);
  const auto first_tile = static_cast<size_t>(first / kTileRows);
  const auto tiles = static_cast<size_t>(tile_count(last - first));
  ModelPart part;
  part.rows = last - first;
  part.dims = whole.dims;
  part.derives_level4 = whole.derives_level4;
  part.vectors = whole.vectors.subspan(from * dims, rows * dims);
  part.norms_squared = whole.norms_squared.subspan(from, rows);
  for (const CodeLevel& level : whole.levels) {
    const size_t tile_bytes = level.codes.size() / static_cast<size_t>(tile_count(whole.rows));
    const auto of_rows = [&](std::span<const float> each) {
      return each.empty() ? each : each.subspan(from, rows);
    };
    part.levels.push_back({level.bits, level.codes.subspan(first_tile * tile_bytes, tiles * tile_bytes),
                           of_rows(level.scales), of_rows(level.residuals), of_rows(level.along),
                           of_rows(level.lengths)});
  }
  return part;
}

}  // namespace

// Looks at one row of each tile, but not at the longest of these: one of them, with a length far above all
// others, would make the bounds of all others equal.
DeviceCoding device_coding(const Model& model) {
  std::vector<float> lengths;
  for (const ModelPart& part : model.parts())
    for (int64_t row = 0; row < part.rows; row += kTileRows)
      lengths.push_back(part.level(8).lengths[static_cast<size_t>(row)]);
  const size_t kept = lengths.size() - (lengths.size() + 62) / 64;  // all of one
  std::ranges::nth_element(lengths, lengths.begin() + static_cast<ptrdiff_t>(kept - 1));
  lengths.resize(kept);
  const double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  return {model.source().coding, lengths.back(), static_cast<float>(sum / static_cast<double>(kept))};
}

int64_t tile_start(const Model& model, int64_t row) {
  GLOVE_REQUIRE(0 <= row && row <= model.words());
  if (row == model.words()) return row;
  const int64_t first = model.part_of(row).first_row;
  return first + (row - first) / kTileRows * kTileRows;
}

ModelPtr slice_of(const ModelPtr& model, int64_t first, int64_t last) {
  GLOVE_REQUIRE(first < last && tile_start(*model, first) == first && tile_start(*model, last) == last);
  std::vector<ModelPart> parts;
  for (const ModelPart& whole : model->parts()) {
    const int64_t begin = std::max(first, whole.first_row);
    const int64_t end = std::min(last, whole.first_row + whole.rows);
    if (begin >= end) continue;
    parts.push_back(part_between(whole, begin - whole.first_row, end - whole.first_row));
    parts.back().first_row = begin;
  }
  Model::Source source;
  source.path = model->path();
  source.maps = model->source().maps;
  source.coding = model->source().coding;
  return std::make_shared<const Model>(std::move(parts), Vocabulary({}, {}, {}), std::move(source), model);
}

}  // namespace glove::gpu
