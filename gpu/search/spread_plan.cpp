#include "gpu/search/spread_plan.h"

#include <algorithm>
#include <numeric>

#include "base/require.h"
#include "gpu/layout/plan.h"
#include "gpu/residency/model_slice.h"

namespace glove::gpu {
namespace {

// What the arrays of every part of a slice take in addition to their rows: the rest of the last tile, and the
// alignment of each array.
constexpr int64_t kArraysOfPart = 16;

constexpr int64_t kQueriesPerPiece = 256;  // a device multiplies so many at a time
constexpr int64_t kMostPieces = 4;

// Codes that are shifted have two numbers per row more, and no vectors beside them on a device.
MemoryPlan plan_rows(const Model& model, int64_t rows) {
  MemoryPlan plan = plan_memory(rows, model.dims());
  if (model.is_shifted()) {
    plan.scan_bytes += 2 * rows * static_cast<int64_t>(sizeof(float));
    plan.exact_bytes = 0;
  }
  return plan;
}

// Returns the number of rows that each room holds.
std::vector<int64_t> capacities(const Model& model, std::span<const int64_t> room, int64_t bytes_of_1024) {
  const auto parts = static_cast<int64_t>(model.parts().size());
  const int64_t row_bytes = (bytes_of_1024 + 1023) / 1024;
  const int64_t fixed = parts * (kArraysOfPart * BlockLayout::kAlignment + kTileRows * row_bytes);
  std::vector<int64_t> rows;
  for (const int64_t bytes : room)
    rows.push_back(std::max<int64_t>(0, bytes - fixed) / row_bytes / kTileRows * kTileRows);
  return rows;
}

// Returns shares of `rows`, equal but for whole tiles, and none above its capacity. REQUIRES: the capacities
// are whole tiles and suffice.
std::vector<int64_t> equal_shares(int64_t rows, std::span<const int64_t> capacity) {
  GLOVE_REQUIRE(std::accumulate(capacity.begin(), capacity.end(), int64_t{0}) >= rows);
  std::vector<size_t> smallest_first(capacity.size());
  std::iota(smallest_first.begin(), smallest_first.end(), size_t{0});
  std::ranges::stable_sort(smallest_first, [&](size_t a, size_t b) { return capacity[a] < capacity[b]; });
  std::vector<int64_t> shares(capacity.size());
  auto devices = static_cast<int64_t>(capacity.size());
  for (const size_t device : smallest_first) {
    const int64_t equal = tile_count((rows + devices - 1) / devices) * kTileRows;
    shares[device] = std::min({capacity[device], equal, rows});
    rows -= shares[device];
    --devices;
  }
  return shares;
}

}  // namespace

int64_t worthwhile_devices(const Model& model, int64_t devices, int64_t least_slice_bytes) {
  const int64_t slices = code_bytes(model.words(), model.dims()) / std::max<int64_t>(1, least_slice_bytes);
  return std::clamp<int64_t>(std::min(slices, tile_count(model.words())), 1, devices);
}

int64_t resident_bytes(const Model& model) {
  int64_t bytes = 0;
  for (const ModelPart& part : model.parts()) {
    const MemoryPlan plan = plan_rows(model, part.rows);
    bytes += plan.scan_bytes + plan.exact_bytes;
  }
  return bytes;
}

std::vector<int64_t> divide_rows(const Model& model, std::span<const int64_t> room, int64_t wanted) {
  const MemoryPlan plan = plan_rows(model, 1024);
  for (const int64_t bytes : {plan.scan_bytes + plan.exact_bytes, plan.scan_bytes}) {
    const std::vector<int64_t> capacity = capacities(model, room, bytes);
    for (auto devices = static_cast<size_t>(wanted); devices <= room.size(); ++devices) {
      const auto first = std::span(capacity).first(devices);
      if (std::accumulate(first.begin(), first.end(), int64_t{0}) < model.words()) continue;
      std::vector<int64_t> ends;
      int64_t end = 0;
      for (const int64_t share : equal_shares(model.words(), first))
        ends.push_back(tile_start(model, end += share));
      ends.resize(room.size(), model.words());
      return ends;
    }
  }
  return {};
}

int64_t batch_pieces(int64_t rows, int64_t dims, int64_t queries, int64_t top_rows, int64_t threads) {
  const BatchPlan plan = plan_batch(rows, dims, queries, top_rows);
  if (plan.worthwhile && plan.queries_per_round < queries) return 1;
  return std::clamp<int64_t>(std::min(queries / kQueriesPerPiece, threads), 1, kMostPieces);
}

}  // namespace glove::gpu
