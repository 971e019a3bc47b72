#include "gpu/layout/gram_plan.h"

#include <algorithm>

namespace glove::gpu {
namespace {

constexpr int32_t kPanel = 128;  // components, if there are several: a pair has 4 by 4 tiles, one per warp
constexpr int32_t kLanes = 32;

constexpr int32_t divide_up(int32_t value, int32_t by) {
  return (value + by - 1) / by;
}

// The tiles of a pair of panels of `panel` components. `same`: the panels are the same, and half of the tiles
// is enough. right_at: where the right panel begins in a row of the buffer.
std::vector<GramTile> tiles_of(int32_t panel, bool same, int32_t right_at) {
  std::vector<GramTile> tiles;
  for (int32_t left = 0; left < panel; left += kGramTile)
    for (int32_t right = same ? left : 0; right < panel; right += kGramTile)
      tiles.push_back({static_cast<int16_t>(left), static_cast<int16_t>(right_at + right)});
  return tiles;
}

}  // namespace

GramPlan plan_gram(int64_t dims) {
  GramPlan plan;
  const auto components = static_cast<int32_t>(dims);
  const bool one_panel = components <= kMostGramWidth;
  plan.panel = one_panel ? divide_up(components, kGramTile) * kGramTile : kPanel;
  plan.width = one_panel ? plan.panel : 2 * plan.panel;
  if (one_panel) {
    plan.tiles = tiles_of(plan.panel, true, 0);
    const auto count = static_cast<int32_t>(plan.tiles.size());
    const int32_t groups = divide_up(count, kMostGramWarps);
    const int32_t loading = divide_up(kGramRows * plan.width, kMostGramLoads * kLanes);
    plan.warps = std::max(divide_up(count, groups), loading);
    plan.groups.assign(static_cast<size_t>(groups), {0, 0});
    plan.tiles.resize(static_cast<size_t>(groups * plan.warps));
    return plan;
  }
  plan.warps = kMostGramWarps;
  for (int32_t left = 0; left < components; left += kPanel)
    for (int32_t right = left; right < components; right += kPanel) {
      const std::vector<GramTile> tiles = tiles_of(plan.panel, left == right, kPanel);
      plan.groups.push_back({left, right});
      plan.tiles.insert(plan.tiles.end(), tiles.begin(), tiles.end());
      plan.tiles.resize(plan.groups.size() * kMostGramWarps);
    }
  return plan;
}

void unfold_gram(const GramPlan& plan, std::span<const double> sums, int64_t dims, std::span<double> moment) {
  const auto component = [&](const GramGroup& group, int64_t at) {
    return at < plan.panel ? group.left + at : group.right + at - plan.panel;
  };
  for (size_t t = 0; t < plan.tiles.size(); ++t) {
    const GramTile tile = plan.tiles[t];
    const GramGroup group = plan.groups[t / static_cast<size_t>(plan.warps)];
    for (int32_t k = 0; tile.left >= 0 && k < kLaneProducts; ++k)
      for (int32_t lane = 0; lane < kLanes; ++lane) {
        const GramPair pair = gram_pair(k, lane);
        const int64_t i = component(group, tile.left + pair.left);
        const int64_t j = component(group, tile.right + pair.right);
        if (i >= dims || j >= dims) continue;
        const double sum =
            sums[(t * kLaneProducts + static_cast<size_t>(k)) * kLanes + static_cast<size_t>(lane)];
        moment[static_cast<size_t>(i * dims + j)] = moment[static_cast<size_t>(j * dims + i)] = sum;
      }
  }
}

}  // namespace glove::gpu
