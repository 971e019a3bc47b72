#include "gpu/layout/plan.h"

#include <algorithm>

#include "gpu/layout/packed_rows.h"
#include "model/nibbles.h"
#include "model/quantize.h"

namespace glove::gpu {
namespace {

constexpr int64_t kLeastRoundQueries = 16;
// For so few rows per query, a smaller sample saves more time than the longer lists take.
constexpr int64_t kFewRows = 16;
// The host sorts fewer rows than this before a second barrier would be passed.
constexpr int64_t kRankedFrom = 64;

bool needs_every_row(int64_t rows, int64_t top_rows) {
  return top_rows * 4 > tile_count(rows);
}

}  // namespace

LevelSlots add_level(BlockLayout& layout, int bits, int64_t rows, int64_t dims, bool is_shifted) {
  const int64_t padded = tile_count(rows) * kTileRows;
  LevelSlots slots;
  slots.codes = layout.add<int8_t>(bits == 8 ? code_bytes(rows, dims) : nibble_bytes(rows, dims));
  slots.scales = layout.add<float>(padded);
  slots.residuals = layout.add<float>(padded);
  slots.is_shifted = is_shifted;
  if (is_shifted) {
    slots.along = layout.add<float>(padded);
    slots.lengths = layout.add<float>(padded);
  }
  return slots;
}

ExactSlots add_exact_arrays(BlockLayout& layout, int64_t rows, int64_t dims, bool with_coarse) {
  ExactSlots slots;
  slots.norms_squared = layout.add<double>(rows);
  slots.vectors = layout.add<float>(rows * dims);
  if (!with_coarse) return slots;
  slots.coarse = add_level(layout, 4, rows, dims);
  slots.packed_rows = layout.add<std::byte>(tile_count(rows) * kTileRows * packed_row_bytes(dims));
  return slots;
}

MemoryPlan plan_memory(int64_t rows, int64_t dims) {
  BlockLayout scan, exact, all;
  add_level(scan, 8, rows, dims);
  add_exact_arrays(exact, rows, dims, false);
  add_exact_arrays(all, rows, dims, true);
  return {scan.bytes(), exact.bytes(), all.bytes() - exact.bytes()};
}

DevicePart from_first_admissible(const DevicePart& part) {
  const int64_t skipped = part.mask.first_tile * kTileRows;
  DevicePart rest = part;
  const auto skip = [](auto*& array, int64_t elements) {
    if (array != nullptr) array += elements;
  };
  rest.first_row += skipped;
  rest.rows -= skipped;
  skip(rest.vectors, skipped * part.dims);
  skip(rest.norms_squared, skipped);
  skip(rest.level.codes, code_bytes(skipped, part.dims));
  skip(rest.coarse.codes, nibble_bytes(skipped, part.dims));
  for (DeviceLevel* const level : {&rest.level, &rest.coarse})
    for (const float** const array : {&level->scales, &level->residuals, &level->along, &level->lengths})
      skip(*array, skipped);
  skip(rest.packed_rows, skipped * packed_row_bytes(part.dims));
  skip(rest.mask.words, part.mask.first_tile);
  rest.mask.first_tile = 0;
  return rest;
}

bool coarse_worthwhile(int64_t rows, int64_t dims, int64_t top_rows, int64_t from) {
  return code_bytes(rows, dims) >= from && !needs_every_row(rows, top_rows);
}

SinglePlan plan_single(const DevicePart& part, int64_t top_rows, int64_t coarse_from) {
  const int64_t rows = part.rows_to_scan();
  const bool coarse =
      part.packed_rows != nullptr && coarse_worthwhile(rows, part.dims, top_rows, coarse_from);
  return {.bits = coarse ? 4 : 8,
          .count_every_row = needs_every_row(rows, top_rows),
          .ranked = part.vectors != nullptr && top_rows >= kRankedFrom && top_rows <= kRankedTo,
          .bytes = (coarse ? nibble_bytes(rows, part.dims) : code_bytes(rows, part.dims)) +
                   tile_count(rows) * kTileRows * 8};
}

BatchPlan plan_batch(int64_t rows, int64_t dims, int64_t queries, int64_t top_rows, int64_t rows_to_scan) {
  const int64_t tiles = tile_count(rows);
  const int64_t scanned = tile_count(rows_to_scan);
  BatchPlan plan;
  if (queries < 2 || dims > kMaxBatchDims || top_rows > kMaxBatchTopRows || 4 * top_rows > scanned)
    return plan;
  plan.worthwhile = true;
  constexpr int64_t kMostSampleTiles = kSampleBytes / (4 * kMaxRoundQueries);
  static_assert(kMostSampleTiles >= 4 * kMaxBatchTopRows);
  const int64_t share = top_rows <= kFewRows ? 32 : 16;
  // Of the tiles of the sample, only this share has admissible rows.
  const int64_t wanted = std::min(scanned, std::max({scanned / share, 4 * top_rows, int64_t{1024}}));
  plan.sample_tiles = std::min(kMostSampleTiles, (wanted * tiles + scanned - 1) / scanned);
  // The sample's threshold admits about top_rows * tiles / sample_tiles rows, and the width of the bounds
  // admits several times as many: there is room for 8 to 16 times, and preferably for the largest round.
  const int64_t expected = top_rows * ((tiles + plan.sample_tiles - 1) / plan.sample_tiles);
  const int64_t room = std::clamp(kListBytes / (8 * kMaxRoundQueries), 8 * expected, 16 * expected);
  plan.list_capacity = std::min({tiles * kTileRows, std::max<int64_t>(4096, (room + 1023) / 1024 * 1024),
                                 kListBytes / (8 * kLeastRoundQueries)});
  const int64_t fitting = kListBytes / (8 * plan.list_capacity) / kLeastRoundQueries * kLeastRoundQueries;
  plan.queries_per_round =
      std::min({kMaxRoundQueries, fitting,
                (queries + kLeastRoundQueries - 1) / kLeastRoundQueries * kLeastRoundQueries});
  return plan;
}

}  // namespace glove::gpu
