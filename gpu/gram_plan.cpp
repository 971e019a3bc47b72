#include "gpu/gram_plan.h"

#include <algorithm>

namespace glove::gpu {
namespace {

constexpr int32_t kPanel = 128;  // of several panels, so that two make a group of 16 by 16 tiles
constexpr int32_t kWarp = 32;
constexpr int32_t kBand = 4;

int32_t round_up(int32_t value, int32_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The tiles of a pair of panels, in bands of four rows of tiles: the 32 threads of a warp then read four
// different values of the left panel and eight of the right one. `same`: the panels are the same, and half of
// the tiles is enough.
std::vector<GramTile> tiles_of(int32_t step, bool same, int32_t right_at) {
  std::vector<GramTile> tiles;
  for (int32_t band = 0; band < step; band += kBand)
    for (int32_t right = same ? band : 0; right < step; ++right)
      for (int32_t left = band; left < std::min(band + kBand, step); ++left)
        if (!same || left <= right)
          tiles.push_back({static_cast<int16_t>(2 * left), static_cast<int16_t>(right_at + 2 * right)});
  return tiles;
}

}  // namespace

GramPlan plan_gram(int64_t dims) {
  GramPlan plan;
  const bool one_panel = dims <= kMostGramWidth;
  plan.panel = one_panel ? round_up(static_cast<int32_t>(dims), kGramTile) : kPanel;
  plan.width = one_panel ? plan.panel : 2 * plan.panel;
  plan.threads = kMostGramThreads;
  const auto components = static_cast<int32_t>(dims);
  if (one_panel) {
    plan.tiles = tiles_of(plan.step(), true, 0);
    const auto count = static_cast<int32_t>(plan.tiles.size());
    const int32_t groups = (count + kMostGramThreads - 1) / kMostGramThreads;
    const int32_t loaders = (kGramRows * plan.width + kMostGramLoads - 1) / kMostGramLoads;
    plan.threads = round_up(std::max((count + groups - 1) / groups, loaders), kWarp);
    plan.groups.assign(static_cast<size_t>(groups), {0, 0});
    plan.tiles.resize(static_cast<size_t>(groups * plan.threads));
    return plan;
  }
  for (int32_t left = 0; left < components; left += kPanel)
    for (int32_t right = left; right < components; right += kPanel) {
      const std::vector<GramTile> tiles = tiles_of(plan.step(), left == right, kPanel);
      plan.groups.push_back({left, right});
      plan.tiles.insert(plan.tiles.end(), tiles.begin(), tiles.end());
      plan.tiles.resize(plan.groups.size() * kMostGramThreads);
    }
  return plan;
}

void unfold_gram(const GramPlan& plan, std::span<const double> sums, int64_t dims, std::span<double> moment) {
  const auto component = [&](const GramGroup& group, int64_t at) {
    return at < plan.panel ? group.left + at : group.right + at - plan.panel;
  };
  for (size_t g = 0; g < plan.groups.size(); ++g)
    for (int64_t t = 0; t < plan.threads; ++t) {
      const GramTile tile = plan.tiles[g * static_cast<size_t>(plan.threads) + static_cast<size_t>(t)];
      for (int32_t k = 0; tile.left >= 0 && k < kTileProducts; ++k) {
        const int64_t i = component(plan.groups[g], tile.left + gram_offset(k / kGramTile, plan.step()));
        const int64_t j = component(plan.groups[g], tile.right + gram_offset(k % kGramTile, plan.step()));
        if (i >= dims || j >= dims) continue;
        const double sum =
            sums[(g * kTileProducts + static_cast<size_t>(k)) * static_cast<size_t>(plan.threads) +
                 static_cast<size_t>(t)];
        moment[static_cast<size_t>(i * dims + j)] = moment[static_cast<size_t>(j * dims + i)] = sum;
      }
    }
}

}  // namespace glove::gpu
